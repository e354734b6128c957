/** Names of features as they are typed: how they could go on, and what they lead to. */

import type { FeatureJson, FeatureMetadataJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { rawName, readableName } from "../../../domain/name.ts";

/** The features of a deployment, by what a name goes through. */
export interface Names {
  /** Features by namespace and name. */
  readonly classes: ReadonlyMap<string, ReadonlyMap<string, FeatureJson>>;
  /** Readable FQNs. */
  readonly all: readonly string[];
}

const MOST = 20;

/** The names of features. */
export function namesOf(features: readonly FeatureMetadataJson[]): Names {
  const own = features.flatMap(({ feature }) => feature ?? []);
  const classes = Map.groupBy(own, ({ namespace = "" }) => namespace);
  return {
    classes: new Map([...classes].map(([namespace, all]) => [namespace, new Map(all.map((one) => [nameOf(one), one]))])),
    all: own.map(({ fqn = "" }) => readableName(fqn)),
  };
}

/** The feature that a name leads to from a namespace; undefined when it leads to none. */
export function featureAt(names: Names, name: string, root = ""): FeatureJson | undefined {
  const path = rawName(name.trim());
  const [first = "", ...rest] = path.replace(/^\./, "").split(".");
  const isAbsolute = path.startsWith(".") || (rest.length > 0 && names.classes.has(first));
  let namespace: string | undefined = isAbsolute ? first : root;
  let found: FeatureJson | undefined;
  for (const part of isAbsolute ? rest : [first, ...rest]) {
    found = namespace === undefined ? undefined : names.classes.get(namespace)?.get(part);
    namespace = found?.hasOne?.foreignNamespace ?? found?.hasMany?.foreignNamespace;
  }
  return found;
}

/** The names that what was typed could become, best first. `withClasses` offers namespaces too. */
export function completions(names: Names, typed: string, withClasses: boolean): readonly string[] {
  const wanted = typed.trim().replace(/^\./, "");
  const at = wanted.lastIndexOf(".");
  const below = at < 0 ? undefined : featuresBelow(names, wanted.slice(0, at));
  if (below) {
    const part = wanted.slice(at + 1).toLowerCase();
    const fitting = [...below.values()].map((one) => readableName(nameOf(one))).filter((one) => one.toLowerCase().includes(part));
    return ranked(fitting, part).map((one) => `${wanted.slice(0, at)}.${one}`);
  }
  const part = wanted.toLowerCase();
  const classes = withClasses ? [...names.classes.keys()].filter((one) => one.includes(part)) : [];
  return [
    ...ranked(classes, part),
    ...ranked(
      names.all.filter((one) => one.toLowerCase().includes(part)),
      part,
    ),
  ].slice(0, MOST);
}

/** FQN of the key of the first class; empty without classes. */
export function firstKey({ classes }: Names): string {
  for (const own of classes.values()) for (const { fqn = "", scalar } of own.values()) if (scalar?.primary) return fqn;
  return "";
}

/** The namespace that relative names are of: that of the first input. */
export function rootOf(names: Names, inputs: readonly (readonly [name: string, text: string])[]): string {
  const first = inputs[0]?.[0].trim().replace(/^\./, "").split(".")[0] ?? "";
  return names.classes.has(first) ? first : "";
}

function featuresBelow(names: Names, path: string): ReadonlyMap<string, FeatureJson> | undefined {
  const own = names.classes.get(path);
  if (own) return own;
  const relation = featureAt(names, path);
  return names.classes.get(relation?.hasOne?.foreignNamespace ?? relation?.hasMany?.foreignNamespace ?? "");
}

function ranked(found: readonly string[], part: string): string[] {
  const rank = (one: string) => (one.toLowerCase().startsWith(part) ? 0 : 1);
  return found.toSorted((a, b) => rank(a) - rank(b)).slice(0, MOST);
}

/** The name within its class, with a raw window. */
function nameOf({ fqn = "" }: FeatureJson): string {
  return fqn.slice(fqn.indexOf(".") + 1);
}
