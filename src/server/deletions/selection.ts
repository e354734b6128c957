/**
 * What a deletion is about: features, by names, tags or namespace, and keys of their rows or their
 * versions.
 */

import type { FeatureSet, Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { didYouMean } from "../../domain/closest.ts";
import { storedName } from "../../domain/feature-version.ts";
import { featuresOf } from "../../domain/graph-diff.ts";
import { compareNames, rawName, readableName } from "../../domain/name.ts";
import { Failure } from "../failure.ts";
import type { DeletedRows } from "../stores/metadata/deletions.ts";
import type { FeatureKey, KnownVersion } from "../stores/metadata/versions.ts";
import { storeKey } from "../stores/online/store.ts";

/** A selection as it is asked for. */
export interface Selection {
  /** Namespace of the features; empty = their names say so. */
  readonly namespace: string;
  readonly features: readonly string[];
  readonly tags: readonly string[];
  /** Primary keys as text. */
  readonly keys: readonly string[];
}

/** What was selected. */
export interface Selected {
  /** Fully qualified names, in order. */
  readonly features: readonly string[];
  readonly rows: readonly DeletedRows[];
}

const MOST_KEYS = 10_000;
const LONGEST_KEY = 1_024;
const MOST_NAMES = 1_000;

/**
 * What a selection means in an environment. Features that the deployment no longer has are among
 * those that may be named, since their values may still be stored.
 * @throws Failure invalid_argument, or not_found with what is close
 */
export function select(wanted: Selection, graph: Graph, known: readonly KnownVersion[]): Selected {
  refuseMalformed(wanted);
  const names = [...new Set(known.map(({ fqn }) => fqn))];
  const features = chosenNames(wanted, graph, names).sort(compareNames);
  const chosen = new Set(features);
  const byNamespace = new Map<string, number[]>();
  for (const { fqn, id } of known)
    if (chosen.has(fqn)) byNamespace.set(namespaceOfFqn(fqn), [...(byNamespace.get(namespaceOfFqn(fqn)) ?? []), id]);
  return {
    features,
    rows: [...byNamespace].map(([namespace, featureIds]) => ({
      namespace,
      features: features.filter((fqn) => namespaceOfFqn(fqn) === namespace),
      featureIds,
      keys: storeKeys(
        wanted.keys,
        graph.featureSets.find((one) => one.namespace === namespace),
        namespace,
      ),
      relationIds: known.filter(({ dtype }) => foreignNamespace(dtype) === namespace).map(({ id }) => id),
    })),
  };
}

/** A feature whose version is to be ended. */
export interface SelectedVersion extends FeatureKey {
  /** The newest version. */
  readonly internalVersion: number;
}

/** Features whose versions are to be ended. */
export interface SelectedVersions {
  /** Those that were named, in order. */
  readonly features: readonly SelectedVersion[];
  /** Relations whose stored rows may hold values of them: their versions end too. */
  readonly relations: readonly FeatureKey[];
}

/**
 * The features that are named, or are of a namespace, with the types of their next versions: those
 * of the live deployment, and of a feature that it has no more that of its newest version.
 * @throws Failure invalid_argument, or not_found with what is close
 */
export function selectVersions(
  wanted: Pick<Selection, "namespace" | "features">,
  live: readonly FeatureKey[],
  known: readonly KnownVersion[],
): SelectedVersions {
  const problem =
    wanted.features.length > MOST_NAMES
      ? `At most ${MOST_NAMES} features are taken at once.`
      : wanted.features.length === 0 && wanted.namespace === ""
        ? "Nothing was selected: give features or a namespace."
        : undefined;
  if (problem !== undefined) throw new Failure("invalid_argument", problem);
  const newest = new Map<string, KnownVersion>();
  for (const one of known) if ((newest.get(one.fqn)?.internalVersion ?? 0) < one.internalVersion) newest.set(one.fqn, one);
  const types = new Map([...newest.values(), ...live].map(({ fqn, dtype }) => [fqn, dtype]));
  const names = namedFeatures(wanted, [...newest.keys()]).sort(compareNames);
  const namespaces = new Set(names.map(namespaceOfFqn));
  const holding = [...newest.keys()].filter((fqn) => !names.includes(fqn) && namespaces.has(foreignNamespace(types.get(fqn) ?? "") ?? ""));
  return {
    features: names.map((fqn) => ({ fqn, dtype: types.get(fqn) ?? "", internalVersion: newest.get(fqn)?.internalVersion ?? 0 })),
    relations: holding.map((fqn) => ({ fqn, dtype: types.get(fqn) ?? "" })),
  };
}

function refuseMalformed({ namespace, features, tags, keys }: Selection): void {
  const problem =
    keys.length === 0
      ? "No keys were given: name the rows by their primary keys."
      : keys.length > MOST_KEYS
        ? `${keys.length} keys were given, and a deletion takes at most ${MOST_KEYS}: split them.`
        : keys.some((key) => key.length > LONGEST_KEY)
          ? `A key has at most ${LONGEST_KEY} characters.`
          : features.length + tags.length > MOST_NAMES
            ? `A deletion takes at most ${MOST_NAMES} features and tags.`
            : features.length > 0 && tags.length > 0
              ? "Both features and tags were given: give one of them."
              : features.length + tags.length === 0 && namespace === ""
                ? "Nothing was selected: give features, tags or a namespace."
                : undefined;
  if (problem !== undefined) throw new Failure("invalid_argument", problem);
}

/** The fully qualified names that were selected. */
function chosenNames({ tags, ...wanted }: Selection, graph: Graph, names: readonly string[]): string[] {
  if (tags.length === 0) return namedFeatures(wanted, names);
  const inside = namedFeatures({ ...wanted, features: [] }, names);
  return [...new Set(tags.flatMap((tag) => taggedNames(tag, graph, names).filter((fqn) => inside.includes(fqn))))];
}

/** The fully qualified names of features; without any, those of a namespace, or all. */
function namedFeatures({ namespace, features }: Pick<Selection, "namespace" | "features">, names: readonly string[]): string[] {
  const namespaces = [...new Set(names.map(namespaceOfFqn))];
  if (namespace !== "" && !namespaces.includes(namespace))
    throw notFound(`There is no namespace '${shown(namespace)}' in this environment.`, namespace, namespaces);
  const inside = names.filter((fqn) => namespace === "" || namespaceOfFqn(fqn) === namespace);
  if (features.length === 0) return inside;
  return [
    ...new Set(
      features.map((feature) => {
        const raw = rawName(feature);
        const fqn = namespace === "" || names.includes(raw) ? raw : `${namespace}.${raw}`;
        if (!inside.includes(fqn))
          throw notFound(
            `There is no feature '${shown(feature)}' ${namespace === "" ? "in this environment" : `in namespace '${namespace}'`}.`,
            feature,
            inside.map(readableName),
          );
        return fqn;
      }),
    ),
  ];
}

/** The features with a tag, their own or their class's. */
function taggedNames(tag: string, graph: Graph, names: readonly string[]): string[] {
  const features = featuresOf(graph);
  const tagged = features.filter((one) => one.tags.includes(tag));
  if (tagged.length === 0)
    throw notFound(`No feature has the tag '${shown(tag)}'.`, tag, [...new Set(features.flatMap((one) => one.tags))]);
  return tagged.map(storedName).filter((fqn) => names.includes(fqn));
}

/** The keys of a class's rows; of a class that the deployment no longer has, of either type. */
function storeKeys(keys: readonly string[], featureSet: FeatureSet | undefined, namespace: string): string[] {
  const primary = featureSet?.features.find(({ fqn }) => fqn === featureSet.primaryKey);
  const dtype = primary?.kind.case === "scalar" ? primary.kind.value.dtype : undefined;
  if (!featureSet || !primary) return [...new Set(keys.flatMap((key) => [`s:${key}`, ...(isInteger(key) ? [integerKey(key)] : [])]))];
  if (dtype?.kind.case !== "primitive" || dtype.kind.value !== PrimitiveType.INT64) return [...new Set(keys.map(storeKey))];
  const wrong = keys.find((key) => !isInteger(key));
  if (wrong !== undefined)
    throw new Failure("invalid_argument", `'${shown(wrong)}' is no key of '${namespace}': ${primary.fqn} is an integer of 64 bits.`, {
      hint: "Nothing was deleted. Give the keys as they are in queries, for example 1,2,3.",
    });
  return [...new Set(keys.map(integerKey))];
}

const INT64 = { least: -(2n ** 63n), most: 2n ** 63n - 1n };

function isInteger(text: string): boolean {
  return /^-?\d{1,19}$/.test(text) && BigInt(text) >= INT64.least && BigInt(text) <= INT64.most;
}

function integerKey(text: string): string {
  return storeKey(BigInt(text));
}

/**
 * The namespace of the rows of a relation, by the text of its type; undefined for a scalar feature.
 */
export function foreignNamespace(dtype: string): string | undefined {
  if (!dtype.includes('"foreignNamespace"')) return undefined;
  return (JSON.parse(dtype) as { readonly foreignNamespace?: string }).foreignNamespace;
}

function namespaceOfFqn(fqn: string): string {
  return fqn.slice(0, fqn.indexOf("."));
}

function shown(text: string): string {
  return text.slice(0, 200);
}

function notFound(message: string, wanted: string, there: readonly string[]): Failure {
  return new Failure("not_found", message, { hint: didYouMean(shown(wanted), there) || "`svc features list` shows all features." });
}
