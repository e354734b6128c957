/**
 * Runs of a spine: the outputs of many rows, each as of its own time. What is sampled comes of a
 * function that the caller gives; the rest is computed from it by the plans of online queries,
 * which see each row's time as the present.
 */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import type { DataType } from "../../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../../domain/value.ts";
import type { Log } from "../../log.ts";
import type { SampledColumn, SampledFeature, Spine } from "../../stores/offline/store.ts";
import { storeKey } from "../../stores/online/store.ts";
import { answerFields } from "../answer/answer.ts";
import type { DeploymentMeter } from "../deployment-meter.ts";
import type { GraphIndex } from "../graph/graph-index.ts";
import type { NamespaceInfo, ScalarInfo } from "../graph/index-types.ts";
import { pathOf } from "../graph/parameter-index.ts";
import type { LiveDeployment } from "../live-deployment.ts";
import { MOST_PARENTS_TOGETHER, MOST_TOGETHER } from "../partitions.ts";
import { FIRST_ROW, type Row, type SlotId } from "../plan/ids.ts";
import { partitionedBelow, partitionedOps } from "../plan/partitioned-ops.ts";
import type { OutputFeature, PathFeature, Plan, PlanShape } from "../plan/plan.ts";
import { planQuery } from "../plan/planner.ts";
import { QueryContext, type Tracing } from "../query-context.ts";
import { QueryRefused, type Refusal, refusal } from "../refusal.ts";
import { givenValue } from "../request/given.ts";
import { absoluteRoot, resolveName } from "../request/names.ts";
import { EMPTY_REQUEST, type RequestInput } from "../request/request.ts";
import { outputFeatures, outputPath, resolveRequest } from "../request/resolve.ts";
import type { Awaitable } from "../run/awaitable.ts";
import type { RunCaches } from "../run/caches.ts";
import type { CellFailure } from "../run/cells.ts";
import { Execution } from "../run/executor.ts";
import { QueryTime } from "../run/query-time.ts";
import type { GivenFailures } from "../run/run.ts";
import type { StoredInto } from "../run/store-access.ts";
import { type SampledRows, sampledPaths } from "./sampled-paths.ts";

/** Rows that are computed together. */
export const CHUNK_ROWS = 10_000;
/** Rows that are computed together when each may have any number of child rows. */
const CHUNK_PARENTS = 1_000;

/** What rows are asked for. */
export interface SpineOutputs {
  /** Empty = those of the named query. */
  readonly outputs: readonly string[];
  readonly queryName: string;
  readonly queryNameVersion: string;
}

/** What is asked of the rows of a spine. */
export interface SpineRequest extends SpineOutputs {
  /** Names of the columns that are given. */
  readonly inputs: readonly string[];
  /** Outputs without which a row is left out. */
  readonly requiredOutputs: readonly string[];
  /** What resolvers compute: everything, or these features. */
  readonly recompute: "all" | readonly string[];
  readonly tags: readonly string[];
  readonly plannerOptions: Readonly<Record<string, string>>;
  /** Id of the offline query, for what its resolvers log; default: none. */
  readonly operation?: string | undefined;
  /** The trace of the offline query; undefined = its spans are not kept. */
  readonly tracing?: Tracing | undefined;
}

/** A column that is given with the rows. */
export interface SpineInput {
  /** FQN from its root. */
  readonly path: string;
  readonly feature: ScalarInfo;
  /** Whether it is the primary key of its root's rows. */
  readonly isKey: boolean;
  /** A value that was given, as the feature has it. Throws BadGiven. */
  read(value: RequestInput): FeatureValue;
}

/** A stored feature that is sampled for the rows. */
export interface SpineSample {
  /** FQN from its root. */
  readonly path: string;
  readonly featureId: number;
  readonly dtype: DataType;
  /** Path of the value that is the key of the sampled row: one that is given, or sampled before. */
  readonly keyPath: string;
  /** Greatest age of a value at the row's time, milliseconds; absent = any. */
  readonly ttlMs?: number;
}

/** A column of the answer. */
export interface SpineOutput {
  /** FQN from its root. */
  readonly path: string;
  readonly dtype: DataType;
  /** Whether rows without it are left out. */
  readonly isRequired: boolean;
}

/** Rows to be computed, in columns. */
export interface SpineRows {
  /** Microseconds since 1970. */
  readonly times: readonly bigint[];
  /** In the order of the inputs. */
  readonly given: readonly (readonly FeatureValue[])[];
}

/** What rows are computed with. */
export interface SpineAccess {
  /** Samples features along keys and times. */
  sample(spine: Spine, features: readonly SampledFeature[]): Promise<readonly SampledColumn[]>;
  /** The stores that take what is computed. */
  readonly into: StoredInto;
  /** Epoch milliseconds of the present: what is computed for later times is not stored. */
  readonly present: number;
  readonly signal: AbortSignal;
}

/** A value of a row that failed. */
export interface SpineFailure {
  /** Position in the chunk, from 0. */
  readonly row: number;
  /** FQN from the root. */
  readonly feature: string;
  readonly code: ErrorCode;
  readonly message: string;
  /** FQN; empty = none. */
  readonly resolver: string;
}

/** One output of some rows. */
export interface ComputedColumn {
  /** Null where nothing was observed, and where it failed. */
  readonly values: FeatureValue[];
  /** Epoch milliseconds; NaN where there is no observation. */
  readonly observedAt: Float64Array;
}

/** Rows that were computed. */
export interface ComputedSpine {
  /** In the order of the outputs. */
  readonly columns: readonly ComputedColumn[];
  readonly failures: readonly SpineFailure[];
  /** Sampled values that would be others if only what was known by then counted. */
  readonly changedIfAsKnown: number;
}

/** Rows that a partitioned resolver has computed together. */
export interface TogetherRows {
  /** FQN. */
  readonly resolver: string;
  readonly most: number;
}

/** A plan for the rows of a spine. */
export interface SpineRun {
  readonly inputs: readonly SpineInput[];
  readonly outputs: readonly SpineOutput[];
  /** The classes whose rows the outputs are of. */
  readonly roots: readonly NamespaceInfo[];
  /** What is sampled, rows further away later. */
  readonly samples: readonly SpineSample[];
  /** Whether anything is computed and not sampled alone. */
  readonly computes: boolean;
  /** The resolver for which all rows are computed together, and how many; undefined = none is. */
  readonly together: TogetherRows | undefined;
  /**
   * Computes rows; more than `CHUNK_ROWS` at once cost memory, and of `together` all rows come at
   * once. Rejects when the signal is aborted, or the samples cannot be had; failures of values are
   * in the answer.
   */
  compute(rows: SpineRows, access: SpineAccess): Promise<ComputedSpine>;
}

/** The parts that a run is made of. */
export interface SpineRunParts {
  readonly deployment: LiveDeployment;
  readonly index: GraphIndex;
  readonly log: Log;
  readonly meter: DeploymentMeter | undefined;
  readonly keep: (execution: Execution, context: QueryContext, present: number, into: StoredInto) => Awaitable<void>;
}

/** Prepares a run. Throws QueryRefused with everything that is wrong. */
export function createSpineRun(request: SpineRequest, parts: SpineRunParts): SpineRun {
  const { index } = parts;
  const asked = request.outputs.length > 0 ? request.outputs : outputsOfNamed(index, request);
  const [first] = [...request.inputs, ...asked].flatMap((name) => absoluteRoot(index, name) ?? []);
  const rootOf = (name: string): string => absoluteRoot(index, name) ?? first ?? "";
  const names = [...new Set([...request.inputs, ...asked].map(rootOf))];
  const computed = recomputed(index, request, first);
  const wrong: Refusal[] = [];
  const roots = names.flatMap((name) => {
    try {
      const inputs = request.inputs.filter((one) => rootOf(one) === name);
      const outputs = asked.filter((one) => rootOf(one) === name);
      return [planRoot({ request, inputs, outputs, computed, parts })];
    } catch (error) {
      if (!(error instanceof QueryRefused)) throw error;
      wrong.push(...error.errors);
      return [];
    }
  });
  if (wrong.length > 0) throw new QueryRefused(wrong);
  const inputs = request.inputs.map((name) => {
    const root = roots.find((one) => one.namespace.name === rootOf(name)) as RootPlan;
    const at = root.inputNames.indexOf(name);
    return { root, at, input: root.inputs[at] as SpineInput };
  });
  const outputs = roots.flatMap((root) => root.outputs.map((output, at) => ({ root, at, output })));
  const order = orderOf(index, asked, first);
  outputs.sort((a, b) => (order.get(a.output.path) ?? 0) - (order.get(b.output.path) ?? 0));
  const required = requiredPaths(
    index,
    request,
    first,
    outputs.map(({ output }) => output.path),
  );

  return {
    inputs: inputs.map(({ input }) => input),
    outputs: outputs.map(({ output }) => ({ ...output, isRequired: required.has(output.path) })),
    roots: roots.filter((root) => root.outputs.length > 0).map(({ namespace }) => namespace),
    samples: roots.flatMap(({ outputs: own, samples }) => (own.length > 0 ? samples : [])),
    computes: roots.some(({ plan }) => plan !== undefined),
    together: roots.flatMap(({ plan }) => (plan ? (togetherOf(plan) ?? []) : [])).sort((a, b) => a.most - b.most)[0],
    async compute({ times, given }, access) {
      const clock = timesOf(times);
      const done = new Map<RootPlan, ComputedSpine>();
      for (const root of roots) {
        if (root.outputs.length === 0) continue;
        const own = new Map(inputs.flatMap((one, at) => (one.root === root ? [[one.input.path, given[at] ?? []] as const] : [])));
        done.set(root, await root.compute({ clock, own }, access));
      }
      const all = [...done.values()];
      return {
        columns: outputs.map(({ root, at }) => done.get(root)?.columns[at] as ComputedColumn),
        failures: all.flatMap(({ failures }) => failures).sort((a, b) => a.row - b.row),
        changedIfAsKnown: all.reduce((sum, { changedIfAsKnown }) => sum + changedIfAsKnown, 0),
      };
    },
  };
}

/** The position of each output among those that were asked for. */
function orderOf(index: GraphIndex, asked: readonly string[], root: string | undefined): ReadonlyMap<string, number> {
  const paths = asked.flatMap((name) => {
    const target = resolveName(index, name, root);
    return target.kind === "unknown" ? [] : outputFeatures([target]).map((output) => outputPath(target.root, output));
  });
  return new Map([...paths.entries()].reverse().map(([at, path]) => [path, at]));
}

/** The times of rows, one object for equal ones. */
function timesOf(times: readonly bigint[]): readonly QueryTime[] {
  const known = new Map<bigint, QueryTime>();
  return times.map((micros) => {
    const time = known.get(micros) ?? new QueryTime(micros);
    known.set(micros, time);
    return time;
  });
}

/** The classes that outputs are of. Throws QueryRefused for names that are none. */
export function rootsOf(index: GraphIndex, request: SpineOutputs): readonly NamespaceInfo[] {
  const asked = request.outputs.length > 0 ? request.outputs : outputsOfNamed(index, request);
  const [first] = asked.flatMap((name) => absoluteRoot(index, name) ?? []);
  const wrong: Refusal[] = [];
  const found = asked.flatMap((name) => {
    const target = resolveName(index, name, first);
    if (target.kind !== "unknown") return index.namespaces.get(target.root) ?? [];
    wrong.push(refusal(ErrorCode.PARSE_FAILED, `outputs: ${target.describe(() => true)}`, name));
    return [];
  });
  if (wrong.length > 0) throw new QueryRefused(wrong);
  return [...new Set(found)];
}

/** Outputs of the named query that a request means. */
function outputsOfNamed(index: GraphIndex, { queryName, queryNameVersion }: SpineOutputs): readonly string[] {
  if (queryName === "")
    throw new QueryRefused([refusal(ErrorCode.INVALID_QUERY, "no outputs: name the features that the rows are to have")]);
  const { shape } = resolveRequest(index, { ...EMPTY_REQUEST, queryName, queryNameVersion });
  return shape.outputs.map((output) => outputPath(shape.root.name, output));
}

/** The features that are to be computed. Throws QueryRefused for names that are none. */
function recomputed(index: GraphIndex, { recompute }: SpineRequest, root: string | undefined): "all" | ReadonlySet<ScalarInfo> {
  if (recompute === "all") return "all";
  const wrong: Refusal[] = [];
  const found = recompute.flatMap((name) => {
    const target = resolveName(index, name, root);
    if (target.kind === "feature") return [target.feature];
    if (target.kind === "group") return target.features;
    if (target.kind === "row") return target.namespace.scalars.filter(({ isOldVersion, primary }) => !primary && !isOldVersion);
    const why = target.kind === "unknown" ? target.describe(() => true) : `'${name}' is rows of a has-many relation`;
    wrong.push(refusal(ErrorCode.PARSE_FAILED, `features to recompute: ${why}`, name));
    return [];
  });
  if (wrong.length > 0) throw new QueryRefused(wrong);
  return new Set(found);
}

/** Paths of the outputs that rows must have. Throws QueryRefused for others. */
function requiredPaths(
  index: GraphIndex,
  { requiredOutputs }: SpineRequest,
  root: string | undefined,
  there: readonly string[],
): Set<string> {
  const wrong: Refusal[] = [];
  const paths = requiredOutputs.flatMap((name) => {
    const target = resolveName(index, name, root);
    const path = target.kind === "feature" ? pathOf(target.root, target) : undefined;
    if (path !== undefined && there.includes(path)) return [path];
    const why = target.kind === "unknown" ? target.describe(() => true) : `'${name}' is no output`;
    wrong.push(refusal(ErrorCode.INVALID_QUERY, `required outputs: ${why}`, name));
    return [];
  });
  if (wrong.length > 0) throw new QueryRefused(wrong);
  return new Set(paths);
}

/** The plan for the rows of one class. */
interface RootPlan {
  readonly namespace: NamespaceInfo;
  readonly inputNames: readonly string[];
  readonly inputs: readonly SpineInput[];
  readonly outputs: readonly Omit<SpineOutput, "isRequired">[];
  readonly samples: readonly SpineSample[];
  /** Undefined when everything is given or sampled. */
  readonly plan: Plan | undefined;
  compute(
    rows: { readonly clock: readonly QueryTime[]; readonly own: ReadonlyMap<string, readonly FeatureValue[]> },
    access: SpineAccess,
  ): Promise<ComputedSpine>;
}

function planRoot(options: {
  readonly request: SpineRequest;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly computed: "all" | ReadonlySet<ScalarInfo>;
  readonly parts: SpineRunParts;
}): RootPlan {
  const { request, computed, parts } = options;
  const { index } = parts;
  const { shape, inputs: resolved } = resolveRequest(index, {
    ...EMPTY_REQUEST,
    ...{ queryName: request.queryName, queryNameVersion: request.queryNameVersion },
    ...{ tags: request.tags, plannerOptions: request.plannerOptions },
    inputs: options.inputs.map((name) => ({ name, form: "typed", value: null })),
    outputs: options.outputs.length > 0 ? options.outputs : options.inputs,
  });
  const { root } = shape;
  const givens: PathFeature[] = [];
  const inputs = resolved.map(({ target, path }): SpineInput => {
    if (target.kind !== "feature")
      throw new QueryRefused([refusal(ErrorCode.INVALID_QUERY, `column ${path} is no value of a row; give single features`, path)]);
    const { feature, relations } = target;
    givens.push({ relations, feature });
    const isKey = relations.length === 0 && feature.primary;
    return { path, feature, isKey, read: (input) => givenValue(feature, path, input) };
  });
  const given = new Set(inputs.map(({ path }) => path));
  const wanted = options.outputs.length > 0 ? shape.outputs : [];
  const { sampled, outputs } = sampledOutputs(wanted, { index, root, given, computed });
  const paths = new Set([...given, ...sampled.flatMap(pathsOf(root))]);
  const isKnown = (output: OutputFeature): boolean => paths.has(outputPath(root.name, output));
  const toCompute = outputs.filter((output) => !isKnown(output));
  const allGivens = [...givens, ...sampled.flatMap(({ relations, features }) => features.map((feature) => ({ relations, feature })))];
  const offline: PlanShape = {
    ...shape,
    givens: allGivens,
    outputs: toCompute,
    options: { ...shape.options, disableCacheReads: true },
    history: { computed },
  };
  const plan = toCompute.length > 0 ? planQuery(index, offline) : undefined;
  const computedAt = new Map(plan?.outputs.map((output, at) => [output.path, { output, at }]));
  const shown = outputs.flatMap((output) => {
    const path = outputPath(root.name, output);
    const found = computedAt.get(path);
    if (found && found.output.slot === undefined) return [];
    return [{ path, dtype: (found?.output.feature ?? output.feature).dtype, at: found?.at }];
  });
  const optionalKeys = new Map(
    sampled.flatMap(({ relations, keyPath, features }) =>
      relations.at(-1)?.optional ? features.map((feature) => [pathOf(root.name, { relations, feature }), keyPath] as const) : [],
    ),
  );
  const caches: { scans: RunCaches["scans"] | undefined } = { scans: undefined };

  return {
    namespace: root,
    inputNames: options.inputs,
    inputs,
    outputs: shown.map(({ path, dtype }) => ({ path, dtype })),
    samples: sampled.flatMap(({ relations, keyPath, features }) =>
      features.map((feature) => ({
        path: pathOf(root.name, { relations, feature }),
        featureId: feature.featureId as number,
        dtype: feature.dtype,
        keyPath,
        ...(feature.offlineTtlMs !== undefined && { ttlMs: feature.offlineTtlMs }),
      })),
    ),
    plan,
    async compute({ clock, own }, access) {
      const rows = clock.length;
      const known = new Map<string, KnownColumn>();
      for (const [path, values] of own) known.set(path, { values, observedAt: new Float64Array(rows).fill(Number.NaN), isGiven: true });
      const changedIfAsKnown = await sampleAll(root, sampled, known, clock, access);
      access.signal.throwIfAborted();
      const failures: SpineFailure[] = [];
      const columns = shown.map(({ path }): ComputedColumn => {
        const there = known.get(path);
        return there
          ? { values: [...there.values], observedAt: there.observedAt }
          : { values: new Array<FeatureValue>(rows).fill(null), observedAt: new Float64Array(rows).fill(Number.NaN) };
      });
      if (plan) {
        const size = plan.ops.some((op) => op.gathers) ? rows : plan.ops.some((op) => op.rows) ? CHUNK_PARENTS : CHUNK_ROWS;
        for (let from = 0; from < rows; from += size) {
          const to = Math.min(rows, from + size);
          const context = contextOf(parts, shape, access, caches, request);
          const execution = new Execution(plan, to - from, context, clock.slice(from, to));
          const { values, missing } = givenTo(plan, allGivens, { root, known, optionalKeys }, from, to);
          await execution.execute(values, missing);
          access.signal.throwIfAborted();
          if (access.into.online || access.into.offline) await parts.keep(execution, context, access.present, access.into);
          collect(execution, from, shown, columns, failures);
          if (to < rows) await Bun.sleep(0);
        }
      }
      return { columns, failures, changedIfAsKnown };
    },
  };
}

function togetherOf(plan: Plan): TogetherRows | undefined {
  const op = partitionedBelow(plan) ?? partitionedOps(plan)[0];
  if (!op) return undefined;
  const most = plan.ops.some(({ rows }) => rows) ? MOST_PARENTS_TOGETHER : MOST_TOGETHER;
  return { resolver: op.resolver?.fqn ?? "", most };
}

/** A column whose values are known before anything is computed. */
interface KnownColumn {
  readonly values: readonly FeatureValue[];
  /** NaN where nothing was observed. */
  readonly observedAt: Float64Array;
  /** Whether it came with the rows, and so is known of each. */
  readonly isGiven: boolean;
}

/** The outputs that there can be, and what is sampled for them. Throws QueryRefused. */
function sampledOutputs(
  wanted: readonly OutputFeature[],
  {
    computed,
    ...options
  }: {
    readonly index: GraphIndex;
    readonly root: NamespaceInfo;
    readonly given: ReadonlySet<string>;
    readonly computed: "all" | ReadonlySet<ScalarInfo>;
  },
): { readonly sampled: readonly SampledRows[]; readonly outputs: readonly OutputFeature[] } {
  if (computed === "all") return { sampled: [], outputs: wanted };
  const { rows, problems } = sampledPaths(wanted, { ...options, computed });
  const pathOfOne = (output: OutputFeature): string => pathOf(options.root.name, output);
  const refused = wanted.filter((output) => output.named && problems.has(pathOfOne(output)));
  if (refused.length > 0)
    throw new QueryRefused(
      refused.map((output) => {
        const path = outputPath(options.root.name, output);
        const why = `'${path}' cannot be had from samples: ${problems.get(pathOfOne(output))}; recompute it (--recompute=${path})`;
        return refusal(ErrorCode.INVALID_QUERY, why, path);
      }),
    );
  return { sampled: rows, outputs: wanted.filter((output) => !problems.has(pathOfOne(output))) };
}

function pathsOf({ name }: NamespaceInfo): (rows: SampledRows) => string[] {
  return ({ relations, features }) => features.map((feature) => pathOf(name, { relations, feature }));
}

/**
 * Samples everything into `known`; returns how much of it was learned only after the rows' times.
 */
async function sampleAll(
  root: NamespaceInfo,
  sampled: readonly SampledRows[],
  known: Map<string, KnownColumn>,
  clock: readonly QueryTime[],
  access: SpineAccess,
): Promise<number> {
  let changed = 0;
  for (const { relations, keyPath, features } of sampled) {
    const keys = known.get(keyPath)?.values ?? [];
    const rows = [...clock.keys()].filter((row) => keys[row] !== null && keys[row] !== undefined);
    const spine = {
      keys: rows.map((row) => storeKey(keys[row] as FeatureValue)),
      times: rows.map((row) => (clock[row] as QueryTime).ms),
    };
    const columns = await access.sample(
      spine,
      features.map(({ featureId, offlineTtlMs: ttlMs }) => ({ featureId: featureId as number, ...(ttlMs !== undefined && { ttlMs }) })),
    );
    for (const [at, feature] of features.entries()) {
      const column = columns[at] as SampledColumn;
      changed += column.changedIfAsKnown;
      const values = new Array<FeatureValue>(clock.length).fill(null);
      const observedAt = new Float64Array(clock.length).fill(Number.NaN);
      for (const [position, row] of rows.entries()) {
        values[row] = column.values[position] as FeatureValue;
        observedAt[row] = column.observedAt[position] as number;
      }
      known.set(pathOf(root.name, { relations, feature }), { values, observedAt, isGiven: false });
    }
  }
  return changed;
}

/** Failures that say that nothing was observed, which is no error of a row. */
const UNOBSERVED = new WeakSet<CellFailure>();

/** What is known of the rows of a spine. */
interface KnownRows {
  readonly root: NamespaceInfo;
  readonly known: ReadonlyMap<string, KnownColumn>;
  /**
   * By the path of a feature that an optional relation leads to: where this key is null there is no
   * row.
   */
  readonly optionalKeys: ReadonlyMap<string, string>;
}

/** The given values of a plan for rows from one position to another, and those that are missing. */
function givenTo(
  plan: Plan,
  givens: readonly PathFeature[],
  { root, known, optionalKeys }: KnownRows,
  from: number,
  to: number,
): { readonly values: readonly (readonly FeatureValue[])[]; readonly missing: GivenFailures } {
  const missing = new Map<SlotId, ReadonlyMap<Row, CellFailure>>();
  const values = givens.map((given, position) => {
    const path = pathOf(root.name, given);
    const column = known.get(path);
    const part = column?.values.slice(from, to) ?? [];
    if (!column?.isGiven && !given.feature.nullable) {
      const failure: CellFailure = { code: ErrorCode.UPSTREAM_FAILED, message: `nothing was observed of ${path}`, path, resolver: "" };
      UNOBSERVED.add(failure);
      const keys = known.get(optionalKeys.get(path) ?? "")?.values;
      const rows = [...part.keys()].filter((row) => part[row] === null && keys?.[from + row] !== null);
      if (rows.length > 0) missing.set(plan.givenSlots[position] as SlotId, new Map(rows.map((row) => [row as Row, failure])));
    }
    return part;
  });
  return { values, missing };
}

/** Takes the outputs of a run that began with a row. */
function collect(
  execution: Execution,
  from: number,
  shown: readonly { readonly path: string; readonly at: number | undefined }[],
  columns: readonly ComputedColumn[],
  failures: SpineFailure[],
): void {
  for (let row = FIRST_ROW; row < execution.rows; row++) {
    const fields = answerFields(execution, row);
    for (const [position, { at }] of shown.entries()) {
      const field = at === undefined ? undefined : fields[at];
      const column = columns[position];
      if (!field || !column) continue;
      column.values[from + row] = field.value;
      column.observedAt[from + row] = field.value === null ? Number.NaN : (field.observedAt ?? Number.NaN);
      for (const failure of [field.failure, ...(field.inner ?? [])]) {
        if (!failure || UNOBSERVED.has(rootOf(failure))) continue;
        const { code, message, resolver } = rootOf(failure);
        failures.push({ row: from + row, feature: field.path, code, message, resolver });
      }
    }
  }
}

function rootOf(failure: CellFailure): CellFailure {
  let root = failure;
  while (root.cause) root = root.cause;
  return root;
}

/**
 * The context of some rows; resolvers that return rows whatever the time run once for all chunks.
 */
function contextOf(
  { deployment, index, log, meter }: SpineRunParts,
  { tags }: PlanShape,
  { present, signal }: SpineAccess,
  shared: { scans: RunCaches["scans"] | undefined },
  { operation, queryName, tracing }: Pick<SpineRequest, "operation" | "queryName" | "tracing">,
): QueryContext {
  const context = new QueryContext({
    deployment,
    request: { ...EMPTY_REQUEST, queryName },
    operation,
    tags,
    receivedAt: present,
    log,
    signal,
    compile: index.compile,
    tracing,
    meter,
  });
  for (const [resolver, scan] of shared.scans ?? []) context.caches.scans.set(resolver, scan);
  shared.scans = context.caches.scans;
  return context;
}
