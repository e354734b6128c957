/**
 * Runs of a resolver by itself: its features are computed for many rows by it alone, as a bulk
 * query computes them, and stored. All rows of a run share a time and what the query keeps, so that
 * a resolver that returns rows is called once.
 */

import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import type { IncrementalRead } from "../../../gen/svc/v1/graph_pb.ts";
import { isInEnvironment } from "../../domain/in-environment.ts";
import { formatMicros } from "../../domain/timestamp.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { Log } from "../log.ts";
import { storeKey } from "../stores/online/store.ts";
import { BulkRun } from "./bulk.ts";
import type { DeploymentMeter } from "./deployment-meter.ts";
import type { GraphIndex } from "./graph/graph-index.ts";
import type { NamespaceInfo, ResolverInfo, ScalarInfo } from "./graph/index-types.ts";
import type { LiveDeployment } from "./live-deployment.ts";
import { keyTextOf } from "./ops/key-text.ts";
import type { Scan } from "./ops/scan.ts";
import { runScan } from "./ops/scan-op.ts";
import { keysOfBody } from "./ops/sql-own-keys.ts";
import { MOST_TOGETHER, Partitions, tooLarge } from "./partitions.ts";
import { gives } from "./plan/calls.ts";
import { QueryContext, type Tracing } from "./query-context.ts";
import { QueryRefused, refusal } from "./refusal.ts";
import type { Preparer } from "./request/prepare.ts";
import { EMPTY_REQUEST, type QueryRequest } from "./request/request.ts";
import type { Awaitable } from "./run/awaitable.ts";
import type { Execution } from "./run/executor.ts";
import { CallFailed } from "./run/outcome.ts";
import type { StoredInto } from "./run/store-access.ts";
import { alike, columnsOf, type FilteredRows, filterRows, leavesOf, withAllInputs, withReturned } from "./run-filter.ts";

/** What is to run, and when. */
export interface ResolverRunOptions {
  /** FQN. */
  readonly resolver: string;
  /** Epoch milliseconds at which the values count as observed. */
  readonly now: number;
  /** Id of the run, for what the resolver logs; default: none. */
  readonly operation?: string | undefined;
  /** The trace of the run; undefined = its spans are not kept. */
  readonly tracing?: Tracing | undefined;
  readonly into: StoredInto;
  readonly signal: AbortSignal;
  /**
   * Whether it reads only what is new, if the resolver says how, and from when on, in microseconds
   * since 1970; undefined = it reads all rows.
   */
  readonly incremental?: { readonly since: bigint | undefined } | undefined;
}

/** Rows to compute: their keys, and the inputs that are known of them. */
export interface KnownRows {
  readonly keys: readonly FeatureValue[];
  /**
   * Values by input, of the resolver or of its filter, in the order of the keys; undefined = the
   * engine finds it.
   */
  readonly inputs: ReadonlyMap<ScalarInfo, readonly (FeatureValue | undefined)[]>;
}

/** How rows came out. */
export interface ComputedRows {
  readonly rows: number;
  readonly failedRows: number;
  /** The message of the first row that failed; empty = none did. */
  readonly error: string;
}

/** The store's keys of a resolver's own rows. */
export interface OwnKeys {
  /** Each once and in an order that depends on nothing else. */
  readonly keys: readonly string[];
  /**
   * Of an incremental run the latest time in what was read, in microseconds since 1970; undefined =
   * it has none.
   */
  readonly latest: bigint | undefined;
}

/** A run of a resolver. */
export interface ResolverRun {
  readonly namespace: NamespaceInfo;
  /** Whether it takes no arguments and gives the rows itself. */
  readonly hasOwnRows: boolean;
  /** Its inputs that are stored features of the row itself, which the history can give. */
  readonly inputs: readonly ScalarInfo[];
  /** What the history alone may know of what its filter is computed from, without its inputs. */
  readonly filterInputs: readonly ScalarInfo[];
  /** How it reads only what is new, if the resolver says so; undefined = it has no such way. */
  readonly incremental: IncrementalRead | undefined;
  /** The reason why bounds of its inputs' times cannot be kept; undefined = they can. */
  readonly boundsProblem: string | undefined;
  /** The store's keys of its own rows, as `newKeys` gives them. */
  ownKeys(): Promise<readonly string[]>;
  /**
   * The keys of its own rows, in an incremental run of those that are new. The resolver runs now.
   * Rejects when it fails.
   */
  newKeys(): Promise<OwnKeys>;
  /**
   * The store's keys of its sample, each once and in order, which runs now; undefined = it has
   * none. Rejects when the sample fails.
   */
  readonly sampledKeys: (() => Promise<readonly string[]>) | undefined;
  /**
   * Computes rows, without those that its filter and its condition leave out and do not count, and
   * hands the values to the stores, which may not have written them yet.
   * @param isPart whether there are other rows beside these; partitions must be whole
   */
  compute(rows: KnownRows, isPart: boolean): Promise<ComputedRows>;
  /**
   * Divides all rows into parts of whole partitions, which are in no order that another attempt
   * could go on after; undefined = it is not partitioned, and any parts will do.
   * @param knownOf what is known of some rows
   */
  readonly divide:
    | ((keys: readonly string[], knownOf: (keys: readonly string[]) => Promise<KnownRows>) => Promise<DividedRows>)
    | undefined;
}

/** Rows in parts of whole partitions. */
export interface DividedRows {
  /** The store's keys. */
  readonly parts: readonly (readonly string[])[];
  /** Rows of partitions that are too large, which are in no part. */
  readonly failedRows: number;
  /** The message of the first of them; empty = there are none. */
  readonly error: string;
}

/** Rows of a part, and of what is looked at together to divide them. */
export const PART_ROWS = 10_000;

/** Most rows of one run: their keys are held in memory. */
export const MAX_RUN_ROWS = 1_000_000;

/** Prepares a run. Throws QueryRefused when the resolver cannot run by itself. */
export function createResolverRun(
  options: ResolverRunOptions & {
    readonly deployment: LiveDeployment;
    readonly preparer: Preparer;
    readonly log: Log;
    readonly meter: DeploymentMeter | undefined;
    readonly keep: (execution: Execution, context: QueryContext, present: number, into: StoredInto) => Awaitable<void>;
  },
): ResolverRun {
  const { deployment, preparer, log, meter, keep, now, into, signal } = options;
  const { index } = preparer;
  const resolver = index.resolvers.get(options.resolver);
  if (!resolver) throw refused(options.resolver, "the deployment has no such resolver");
  const namespace = index.namespaces.get(resolver.namespace);
  const primary = namespace?.primaryKey;
  const problem = whyNotAlone(resolver, index.environmentName);
  if (problem !== undefined) throw refused(resolver.fqn, problem);
  if (!namespace || !primary) throw refused(resolver.fqn, "its class has no primary key, so that no row can be stored");
  const outputs = resolver.features.filter((feature) => feature.namespace === namespace.name && !feature.primary);
  if (outputs.length === 0) throw refused(resolver.fqn, "it computes no feature but the primary key");

  const hasOwnRows = resolver.inputs.every((input) => input.now) && (resolver.shape === "rows" || resolver.sql !== undefined);
  if (hasOwnRows && !gives(resolver, primary))
    throw refused(resolver.fqn, `its rows have no ${primary.fqn}, so that they cannot be stored`);
  const sample = sampleOf(resolver, primary, index);

  const filterRequest: QueryRequest = { ...EMPTY_REQUEST, outputs: outputs.map(({ fqn }) => fqn), tags: resolver.tags };
  const request: QueryRequest = { ...filterRequest, forcedResolver: resolver.fqn };
  const { compile } = index;
  const bound = options.incremental?.since;
  const since = bound === undefined ? undefined : formatMicros(bound);
  const parts = {
    deployment,
    tags: resolver.tags,
    receivedAt: now,
    log,
    signal,
    compile,
    tracing: options.tracing,
    operation: options.operation,
    meter,
  };
  const context = new QueryContext({ ...parts, request, since });
  const direct = resolver.inputs.filter(({ relations, feature, rows }) => relations.length === 0 && feature && !rows);
  const read = [...direct.flatMap(({ feature }) => feature ?? []), ...conditionInputs(resolver, namespace, compile)];
  const inputs = [...new Set(read.filter((feature) => !feature.primary && feature.featureId !== undefined))];

  const own: ReadonlySet<string> = hasOwnRows ? resolver.outputs : new Set();
  const leaves = resolver.runFilter === "" ? [] : leavesOf(deployment.graph, index, namespace, resolver.runFilter, own);
  const filterInputs = leaves.filter((leaf) => !inputs.includes(leaf) && !own.has(leaf.fqn));
  const returned = leaves.filter((leaf) => own.has(leaf.fqn));
  const filterContext = new QueryContext({ ...parts, request: filterRequest });

  /** The rows that a resolver returns, which runs once. */
  const scanned = (of: ResolverInfo): Promise<Scan> => {
    const scan = context.caches.scans.get(of) ?? runScan(context, undefined, of, context.now);
    context.caches.scans.set(of, scan);
    return scan;
  };

  const filtered = async (rows: KnownRows, isPart: boolean): Promise<FilteredRows> => {
    if (resolver.runFilter === "") return { chosen: rows, failedRows: 0, error: "" };
    const known = returned.length === 0 ? rows : withReturned(rows, await scanned(resolver), primary, returned);
    return filterRows(resolver.runFilter, primary, known, filterRequest, (asked, columns) =>
      new BulkRun({ request: asked, columns }, preparer, () => filterContext, noStore, undefined, isPart).answer(),
    );
  };

  /**
   * The rows of a part that run, with the inputs that are to be given. Of a partitioned resolver
   * all rows are given the same ones, so that they share its calls.
   */
  const ready = async (all: KnownRows, isPart: boolean): Promise<FilteredRows> => {
    const found = await filtered(all, isPart);
    const own = { keys: found.chosen.keys, inputs: new Map([...found.chosen.inputs].filter(([feature]) => inputs.includes(feature))) };
    if (resolver.partitionedBy.length === 0) return { ...found, chosen: own };
    const chosen = await withAllInputs(primary, own, filterRequest, (asked, columns) =>
      new BulkRun({ request: asked, columns }, preparer, () => filterContext, noStore, undefined, isPart).answer(),
    );
    return { ...found, chosen };
  };

  /** What rows are alike in that are computed together, in the order of the keys. */
  const partitionTexts = ({ inputs: known, keys }: KnownRows): string[] => {
    const textOf = keyTextOf(resolver.partitionedBy);
    return keys.map((key, row) =>
      textOf(resolver.partitionedBy.map((feature) => (feature === primary ? key : (known.get(feature)?.[row] ?? null)))),
    );
  };

  /** The keys of the rows that a resolver returns. */
  const scannedKeys = async (of: ResolverInfo): Promise<readonly string[]> => {
    const column = (await scanned(of)).columns.get(primary) ?? [];
    return distinct(column.map((value) => primary.strict(value)));
  };

  const newKeys = async (): Promise<OwnKeys> => {
    if (resolver.sql) {
      const incremental = options.incremental && resolver.sql.incremental;
      const { keys, latest } = await keysOfBody({
        resolver,
        sql: resolver.sql,
        primary,
        featureTime: namespace.featureTime,
        most: MAX_RUN_ROWS,
        incremental,
        context,
        signal,
      });
      return { keys: distinct(keys), latest };
    }
    return { keys: await scannedKeys(resolver), latest: undefined };
  };

  return {
    namespace,
    hasOwnRows,
    inputs,
    filterInputs,
    incremental: resolver.sql?.incremental,
    boundsProblem: boundsProblemOf(resolver, hasOwnRows, inputs),

    ownKeys: async () => (await newKeys()).keys,
    newKeys,
    sampledKeys:
      sample &&
      (async () => {
        try {
          return await scannedKeys(sample);
        } catch (error) {
          if (!(error instanceof CallFailed)) throw error;
          throw new CallFailed(error.code, `its sample ${sample.fqn}: ${error.message}`, error.exception);
        }
      }),

    divide:
      resolver.partitionedBy.length === 0
        ? undefined
        : async (keys, knownOf) => {
            const texts = new Map<string, string>();
            for (let from = 0; from < keys.length; from += PART_ROWS) {
              const { chosen } = await ready(await knownOf(keys.slice(from, from + PART_ROWS)), true);
              for (const [row, text] of partitionTexts(chosen).entries()) texts.set(storeKey(chosen.keys[row] as FeatureValue), text);
              signal.throwIfAborted();
            }
            const partitions = new Partitions(keys.length);
            partitions.join(keys.map((key) => texts.get(key)));
            return dividedRows(resolver, keys, partitions.parts(PART_ROWS));
          },

    async compute(all, isPart) {
      const { chosen: own, ...failed } = await ready(all, isPart);
      let leftOut = 0;
      let sum: ComputedRows = { rows: own.keys.length + failed.failedRows, ...failed };
      for (const rows of alike(own.keys, own.inputs)) {
        const bulk = new BulkRun(
          { request, columns: columnsOf(primary, own, rows) },
          preparer,
          () => context,
          (execution) => {
            leftOut += execution.leftOut.size;
            return keep(execution, context, now, into);
          },
          options.tracing?.spans,
          isPart,
        );
        const { failures } = await bulk.answer();
        const failedRows = sum.failedRows + new Set(failures.map(({ row }) => row)).size;
        sum = { rows: sum.rows, failedRows, error: sum.error || (failures[0]?.message ?? "") };
      }
      return { ...sum, rows: sum.rows - leftOut };
    },
  };
}

/** Features of the row itself that a resolver's condition reads. */
function conditionInputs({ condition }: ResolverInfo, { members }: NamespaceInfo, compile: GraphIndex["compile"]): ScalarInfo[] {
  const compiled = condition?.expression && compile(condition.expression, condition);
  if (!compiled || typeof compiled === "string") return [];
  return compiled.references.columns.flatMap((path) => {
    const member = members.get(path);
    return member?.kind === "scalar" ? [member] : [];
  });
}

/** Parts of rows by their positions, without those that are too large. */
function dividedRows(resolver: ResolverInfo, keys: readonly string[], parts: readonly (readonly number[])[]): DividedRows {
  const fitting = parts.filter(({ length }) => length <= MOST_TOGETHER);
  const large = parts.filter(({ length }) => length > MOST_TOGETHER);
  return {
    parts: fitting.map((part) => part.map((row) => keys[row] as string)),
    failedRows: large.reduce((sum, { length }) => sum + length, 0),
    error: large[0] ? tooLarge(resolver, large[0].length) : "",
  };
}

const noStore = (): void => {};

/** The resolver whose rows one runs for; undefined = it has no sample. Throws QueryRefused. */
function sampleOf(resolver: ResolverInfo, primary: ScalarInfo, { resolvers, environmentName }: GraphIndex): ResolverInfo | undefined {
  if (resolver.runSample === "") return undefined;
  const sample = resolvers.get(resolver.runSample);
  const isSound = sample?.shape === "rows" && !sample.sql && sample.inputs.every((input) => input.now) && gives(sample, primary);
  const problem = isSound ? whyNotAlone(sample, environmentName) : `it has to take no arguments and return rows with ${primary.fqn}`;
  if (problem !== undefined) throw refused(resolver.fqn, `its sample ${resolver.runSample} cannot be used: ${problem}`);
  return sample;
}

function distinct(keys: readonly FeatureValue[]): readonly string[] {
  return [...new Set(keys.flatMap((key) => (key === null ? [] : [storeKey(key)])))].sort();
}

/** The reason why a resolver cannot run by itself; undefined = it can. */
function whyNotAlone(resolver: ResolverInfo, environment: string): string | undefined {
  if (resolver.broken) return resolver.broken;
  if (!isInEnvironment(resolver.environments, environment))
    return `it exists in the environments ${resolver.environments.join(", ")}, not in ${environment}`;
  if (resolver.shape === "relation")
    return "it returns the rows of a has-many relation, which this version of svc computes for queries only";
  return undefined;
}

function boundsProblemOf(resolver: ResolverInfo, hasOwnRows: boolean, inputs: readonly ScalarInfo[]): string | undefined {
  if (hasOwnRows) return "it takes no features, so that there are no times of inputs to bound";
  const other = resolver.inputs.find(({ now, feature, relations, rows }) => !now && (!feature || relations.length > 0 || rows));
  if (other) return `its parameter ${other.name} comes from other rows, whose times this version of svc does not bound`;
  return inputs.length === 0 ? "it takes the primary key alone, which has no time" : undefined;
}

function refused(resolver: string, why: string): QueryRefused {
  return new QueryRefused([refusal(ErrorCode.INVALID_QUERY, `${resolver} cannot run by itself: ${why}`)]);
}
