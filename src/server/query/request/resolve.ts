/** The names of a request, resolved: its inputs, outputs, staleness and named query. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import type { NamedQuery } from "../../../../gen/svc/v1/graph_pb.ts";
import { closestNames } from "../../../domain/closest.ts";
import { type PlannerOptions, readPlannerOptions } from "../../../domain/planner-options.ts";
import { durationToMs } from "../../../domain/proto-time.ts";
import { isStaleness, STALENESS_RANGE } from "../../../domain/staleness.ts";
import { compareVersions } from "../../../domain/version.ts";
import type { GraphIndex } from "../graph/graph-index.ts";
import type { NamespaceInfo } from "../graph/index-types.ts";
import { pathOf } from "../graph/parameter-index.ts";
import type { OutputFeature, PlanShape } from "../plan/plan.ts";
import { type Guess, QueryRefused, type Refusal, Refusals, refusal } from "../refusal.ts";
import {
  absoluteRoot,
  type FeatureTarget,
  type GroupTarget,
  type RowsTarget,
  type RowTarget,
  resolveName,
  type Target,
  type UnknownName,
} from "./names.ts";
import type { QueryRequest } from "./request.ts";

/** The meaning of an input's name. */
export interface ResolvedInput {
  readonly target: FeatureTarget | RowTarget | RowsTarget | GroupTarget;
  /** Its FQN from the root. */
  readonly path: string;
}

/** A request's names, resolved. */
export interface ResolvedRequest {
  /** As many as the request has inputs. */
  readonly inputs: readonly ResolvedInput[];
  /** Without the features of rows given whole. */
  readonly shape: PlanShape;
  /** The class that was taken because no outputs were given. */
  readonly inferred: readonly string[];
  /** Whether an input is a row; then the shape depends on the values. */
  readonly hasRows: boolean;
  /** The named query that is meant; undefined = none is. */
  readonly named: NamedVersion | undefined;
}

/** A named query. */
export interface NamedVersion {
  readonly name: string;
  /** Empty = it has none. */
  readonly version: string;
}

/** Resolves the names of a request. Throws QueryRefused with everything that is wrong. */
export function resolveRequest(index: GraphIndex, request: QueryRequest): ResolvedRequest {
  const named = namedQueryOf(index, request);
  const wrong = new Refusals();
  const outputNames = request.outputs.length > 0 ? request.outputs : (named?.outputs ?? []);
  const inputNames = request.inputs.map((input) => input.name);
  const rootName = firstRoot(index, inputNames) ?? firstRoot(index, named?.inputs ?? []) ?? firstRoot(index, outputNames);
  const inputs = resolveInputs(index, inputNames, rootName, wrong);
  checkOnce(inputs, wrong);
  const root = rootName === undefined ? undefined : index.namespaces.get(rootName);
  const inferred = outputNames.length === 0 && root ? [root.name] : [];
  const wanted = resolveOutputs(index, outputNames.length > 0 ? outputNames : inferred, rootName, wrong);
  if (root) checkRoot(index, root, [...inputs, ...wanted], wrong);
  const staleness = stalenessOf(index, request, named, rootName, wrong);
  const options = optionsOf(request, named, wrong);
  if (wrong.isEmpty && !root)
    wrong.add(() => refusal(ErrorCode.INVALID_QUERY, "the query has no inputs and no outputs; give at least one input or one output"));
  if (!wrong.isEmpty || !root) throw new QueryRefused(wrong.list());
  return {
    inputs,
    hasRows: inputs.some((input) => input.target.kind !== "feature"),
    inferred,
    named: named && { name: named.name, version: named.version },
    shape: {
      root,
      givens: inputs.flatMap(({ target }) => (target.kind === "feature" ? [{ relations: target.relations, feature: target.feature }] : [])),
      rows: [],
      outputs: outputFeatures(wanted.map((one) => one.target)),
      tags: [...new Set([...(named?.tags ?? []), ...request.tags])],
      staleness,
      options,
      forcedResolver: request.forcedResolver,
    },
  };
}

/** A name with its meaning. */
interface NamedTarget {
  readonly name: string;
  readonly target: Target;
}

/** The inputs that a query can give; `wrong` has the others. */
function resolveInputs(
  index: GraphIndex,
  names: readonly string[],
  root: string | undefined,
  wrong: Refusals,
): (ResolvedInput & NamedTarget)[] {
  const inputs: (ResolvedInput & NamedTarget)[] = [];
  for (const name of names) {
    const target = resolveName(index, name, root);
    if (target.kind === "unknown") wrong.add((guess) => unknownName(target, name, "inputs", guess));
    else if (target.kind === "rows" && target.picks && (target.picks.length > 1 || target.picks[0]?.includes(".")))
      wrong.add(() =>
        refusal(
          ErrorCode.INVALID_QUERY,
          `input '${name}': of the rows of ${target.many.fqn} give own features of ${target.many.foreign.className}, or whole rows as a list of objects`,
          name,
        ),
      );
    else if (target.kind === "row" && target.relations.length === 0)
      wrong.add(() =>
        refusal(ErrorCode.PARSE_FAILED, `input '${name}' is a class; give its features, for example ${exampleOf(target.namespace)}`, name),
      );
    else inputs.push({ name, target, path: pathOfTarget(target) });
  }
  return inputs;
}

function checkOnce(inputs: readonly ResolvedInput[], wrong: Refusals): void {
  const seen = new Set<string>();
  for (const { path } of inputs) {
    if (seen.has(path))
      wrong.add(() =>
        refusal(ErrorCode.INVALID_QUERY, `input ${path} is given twice; several values for a feature need a bulk query`, path),
      );
    seen.add(path);
  }
}

function resolveOutputs(index: GraphIndex, names: readonly string[], root: string | undefined, wrong: Refusals): NamedTarget[] {
  const wanted: NamedTarget[] = [];
  for (const name of names) {
    const target = resolveName(index, name, root);
    if (target.kind === "unknown") wrong.add((guess) => unknownName(target, name, "outputs", guess));
    else wanted.push({ name, target });
  }
  return wanted;
}

function checkRoot(index: GraphIndex, root: NamespaceInfo, targets: readonly NamedTarget[], wrong: Refusals): void {
  for (const { name, target } of targets) if (target.root !== root.name) wrong.add(() => foreignRoot(index, name, target, root));
}

/**
 * The named query that a request means, without a version its latest; undefined when the name is
 * only a label.
 */
function namedQueryOf(index: GraphIndex, request: QueryRequest): NamedQuery | undefined {
  if (request.queryName === "") return undefined;
  const versions = index.namedQueries.get(request.queryName);
  const found = versions?.get(request.queryNameVersion) ?? (request.queryNameVersion === "" ? latestOf(versions) : undefined);
  if (found || request.outputs.length > 0) return found;
  const wanted = `'${request.queryName}'${request.queryNameVersion && ` in version ${request.queryNameVersion}`}`;
  if (versions) {
    const known = [...versions.keys()]
      .sort(compareVersions)
      .map((version) => version || "(unversioned)")
      .join(", ");
    throw new QueryRefused([refusal(ErrorCode.INVALID_QUERY, `no named query ${wanted}; its versions are ${known}`)]);
  }
  const near = closestNames(request.queryName, index.namedQueries.keys());
  const hint = near.length > 0 ? `did you mean ${near.map((name) => `'${name}'`).join(", ")}?` : "name outputs to use it as a label";
  throw new QueryRefused([refusal(ErrorCode.INVALID_QUERY, `no named query ${wanted}; ${hint}`)]);
}

function latestOf(versions: ReadonlyMap<string, NamedQuery> | undefined): NamedQuery | undefined {
  return [...(versions?.values() ?? [])].sort((a, b) => compareVersions(b.version, a.version))[0];
}

/** The request's planner options come before the named query's. */
function optionsOf(request: QueryRequest, named: NamedQuery | undefined, wrong: Refusals): PlannerOptions {
  const own = Object.entries(named?.plannerOptions ?? {}).filter(([name]) => !(name in request.plannerOptions));
  for (const problem of readPlannerOptions(Object.fromEntries(own)).problems)
    wrong.add(() => refusal(ErrorCode.INVALID_QUERY, `named query '${named?.name}': ${problem}`));
  for (const problem of readPlannerOptions(request.plannerOptions).problems) wrong.add(() => refusal(ErrorCode.INVALID_QUERY, problem));
  return readPlannerOptions({ ...Object.fromEntries(own), ...request.plannerOptions }).options;
}

function stalenessOf(
  index: GraphIndex,
  request: QueryRequest,
  named: NamedQuery | undefined,
  root: string | undefined,
  wrong: Refusals,
): ReadonlyMap<string, number> {
  const given: [string, number][] = Object.entries(named?.staleness ?? {}).map(([name, duration]) => [name, durationToMs(duration)]);
  given.push(...Object.entries(request.staleness));
  const result = new Map<string, number>();
  for (const [name, ms] of given) {
    const target = resolveName(index, name, root);
    if (target.kind === "unknown") wrong.add((guess) => unknownName(target, name, "staleness", guess));
    else if (!isStaleness(ms)) wrong.add(() => refusal(ErrorCode.PARSE_FAILED, `staleness of '${name}' must be ${STALENESS_RANGE}`, name));
    else for (const { feature } of outputFeatures(ownTargets(index, target))) result.set(feature.fqn, ms);
  }
  return result;
}

/**
 * The meanings of a name by itself: features of the rows of a relation are those of the child's
 * class.
 */
function ownTargets(index: GraphIndex, target: Target): Target[] {
  if (target.kind !== "rows" || !target.picks) return [target];
  return target.picks.flatMap((pick) => {
    const own = resolveName(index, `.${target.many.foreign.name}.${pick}`, undefined);
    return own.kind === "unknown" ? [] : ownTargets(index, own);
  });
}

/** The features that targets mean. */
export function outputFeatures(targets: readonly Target[]): OutputFeature[] {
  const found = new Map<string, OutputFeature>();
  for (const target of targets) {
    if (target.kind === "rows") {
      for (const pick of target.picks ?? [undefined]) {
        const needs = { paths: new Set(pick === undefined ? [] : [pick]), all: pick === undefined, relations: new Map() };
        const output = { relations: target.relations, feature: target.many.rows, named: true, needs, pick };
        found.set(outputPath(target.root, output), output);
      }
      continue;
    }
    const features =
      target.kind === "feature"
        ? [target.feature]
        : target.kind === "group"
          ? target.features
          : target.namespace.scalars.filter(({ isOldVersion }) => !isOldVersion);
    for (const feature of features) {
      const path = pathOf(target.root, { relations: target.relations, feature });
      const named = target.kind !== "row" || (found.get(path)?.named ?? false);
      found.set(path, { relations: target.relations, feature, named });
    }
  }
  return [...found.values()];
}

/** An output's FQN from the root. */
export function outputPath(root: string, output: OutputFeature): string {
  const path = pathOf(root, output);
  return output.pick === undefined ? path : `${path}.${output.pick}`;
}

function pathOfTarget(target: Target): string {
  const feature = target.kind === "feature" ? target.feature : target.kind === "rows" ? target.many : undefined;
  if (target.kind === "group") return `${pathOf(target.root, target)}.${(target.features[0]?.name ?? "").replace(/__\d+__$/, "")}`;
  const path = pathOf(target.root, { relations: target.relations, feature });
  return target.kind === "rows" && target.picks ? `${path}.${target.picks.join(",")}` : path;
}

function firstRoot(index: GraphIndex, names: readonly string[]): string | undefined {
  for (const name of names) {
    const root = absoluteRoot(index, name);
    if (root !== undefined) return root;
  }
  return undefined;
}

function foreignRoot(index: GraphIndex, name: string, target: Target, root: NamespaceInfo): Refusal {
  const through = [...index.relations.values()].find(
    (relation) => relation.namespace === root.name && relation.foreign.name === target.root,
  );
  const rest = pathOfTarget(target).slice(target.root.length);
  const hint = through ? `; to go through the relation, write ${through.fqn}${rest}` : "";
  return refusal(
    ErrorCode.INVALID_QUERY,
    `'${name}' is rooted in ${target.root}, but the query in ${root.name}: all inputs and outputs must share one root${hint}`,
    name,
  );
}

function unknownName(found: UnknownName, name: string, where: string, guess: Guess): Refusal {
  return refusal(found.unsupported ? ErrorCode.INVALID_QUERY : ErrorCode.PARSE_FAILED, `${where}: ${found.describe(guess)}`, name);
}

function exampleOf(namespace: NamespaceInfo): string {
  return namespace.primaryKey?.fqn ?? namespace.scalars[0]?.fqn ?? namespace.name;
}
