/** The rows of a relation that are nearest to a vector, of those that the online store has. */

import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import { errorText } from "../../../domain/error-text.ts";
import { encodeStored, type FeatureValue } from "../../../domain/value.ts";
import type { CompiledExpression } from "../../expressions/compiled.ts";
import { EVICTED, primaryKeyOf, type StoredValue } from "../../stores/online/store.ts";
import type { FoundVectors } from "../../vectors/vector-memory.ts";
import type { NearestInfo, ScalarInfo } from "../graph/index-types.ts";
import type { Row } from "../plan/ids.ts";
import type { PlanOp, PlanRows } from "../plan/plan.ts";
import type { CellFailure } from "../run/cells.ts";
import { argumentOf } from "../run/op-inputs.ts";
import type { Run } from "../run/run.ts";
import type { SourceRows } from "./rows-source.ts";

/** Rows whose stored values are read at once, before other queries have their turn. */
const ROWS_PER_READ = 256;
/** Rows that are looked at first where there are conditions, and the growth of their number. */
const FIRST_ROWS = 64;
const GROWTH = 8;

/** One row that was found. */
interface NearRow {
  readonly key: FeatureValue;
  readonly distance: number;
}

/** The nearest rows of some parents. Never rejects: failures are in the groups. */
export async function nearestRows(run: Run, op: PlanOp, rows: PlanRows, parents: readonly Row[]): Promise<SourceRows> {
  const started = performance.now();
  const search = new Search(run, op, rows);
  const path = `${run.plan.frame(op.frame).path}.${rows.many.name}`;
  let groups: readonly (readonly NearRow[] | CellFailure)[];
  try {
    groups = await search.all(parents);
  } catch (error) {
    const message = `the nearest rows of ${path} were not found: ${errorText(error)}`;
    const failure = { code: ErrorCode.RESOLVER_FAILED, message, path, resolver: "" };
    groups = parents.map(() => failure);
  }
  const found = groups.flatMap((group) => ("code" in group ? [] : group));
  run.context.trace?.ran(op, parents.length, found.length, performance.now() - started);
  const columns = new Map<ScalarInfo, readonly FeatureValue[]>([
    [rows.many.foreign.primaryKey as ScalarInfo, found.map(({ key }) => key)],
    ...(search.nearest.distance ? [[search.nearest.distance, found.map(({ distance }) => distance)] as const] : []),
  ]);
  let next = 0;
  return {
    groups: groups.map((group) => ("code" in group ? group : group.map(() => next++))),
    columns,
    broken: new Map(),
    rows: found.length,
  };
}

/** The search of one operation. */
class Search {
  readonly nearest: NearestInfo;
  readonly #filters: readonly CompiledExpression[];
  /** The features whose stored values are looked at: the vector, and those of the conditions. */
  readonly #read: readonly ScalarInfo[];

  constructor(
    readonly run: Run,
    readonly op: PlanOp,
    readonly rows: PlanRows,
  ) {
    this.nearest = rows.many.nearest as NearestInfo;
    const { containing, equal, filters, foreign } = this.nearest;
    const { members } = rows.many.foreign;
    this.#filters = filters.map((filter) => run.context.compile(filter, rows.many.foreign) as CompiledExpression);
    const filtered = this.#filters.flatMap((filter) => filter.references.columns.map((path) => members.get(path) as ScalarInfo));
    const all = new Set([foreign, ...[...equal, ...containing].map((pair) => pair.foreign), ...filtered]);
    this.#read = [...all].filter((feature) => !feature.primary);
  }

  get #hasConditions(): boolean {
    const { containing, equal, filters } = this.nearest;
    return containing.length + equal.length + filters.length > 0;
  }

  /** The rows of each parent. */
  async all(parents: readonly Row[]): Promise<readonly (readonly NearRow[])[]> {
    const found = new Array<readonly NearRow[]>(parents.length);
    const { limit } = this.nearest;
    const first = this.#hasConditions ? Math.max(FIRST_ROWS, limit) : limit;
    for (const [ms, places] of this.#byTime(parents)) {
      const wanted = places.map((place) => this.#argumentsOf(parents[place] as Row));
      const known = wanted.flatMap((one, at) => (one.includes(null) ? [] : [at]));
      for (const at of places.keys()) found[places[at] as number] = [];
      const vectors = await this.#search(
        known.map((at) => wanted[at]?.[0] as number[]),
        first,
        ms,
      );
      for (const [position, at] of known.entries()) {
        const args = wanted[at] as readonly FeatureValue[];
        found[places[at] as number] = await this.#chosen(args, vectors[position], first, ms);
      }
    }
    return found;
  }

  /** The nearest rows that keep to the conditions; looks at more until there are enough. */
  async #chosen(args: readonly FeatureValue[], first: FoundVectors | undefined, firstLimit: number, ms: number): Promise<NearRow[]> {
    let found = first;
    for (let limit = firstLimit; ; limit *= GROWTH) {
      if (!found) return [];
      const chosen = await this.#kept(args, found, ms);
      if (chosen.length >= this.nearest.limit || found.keys.length < limit) return chosen;
      [found] = await this.#search([args[0] as number[]], limit * GROWTH, ms);
    }
  }

  /** Those of the found rows that are stored as they were found and keep to the conditions. */
  async #kept(args: readonly FeatureValue[], found: FoundVectors, ms: number): Promise<NearRow[]> {
    const { limit } = this.nearest;
    const chosen: NearRow[] = [];
    for (let from = 0; from < found.keys.length && chosen.length < limit; from += ROWS_PER_READ) {
      this.run.context.signal?.throwIfAborted();
      if (from > 0) await new Promise((resolve) => setImmediate(resolve));
      const keys = found.keys.slice(from, from + ROWS_PER_READ);
      const isObserved = (at: number, time: number) => found.observedAt[from + at] === time;
      const tests = await this.#tested(args, keys, isObserved, ms);
      for (const [at, key] of keys.entries())
        if (tests[at] && chosen.length < limit) chosen.push({ key: primaryKeyOf(key), distance: found.distances[from + at] as number });
    }
    return chosen;
  }

  /** For each key, whether its row keeps to the conditions. */
  async #tested(
    [, ...locals]: readonly FeatureValue[],
    keys: readonly string[],
    isObserved: (at: number, time: number) => boolean,
    ms: number,
  ): Promise<readonly boolean[]> {
    const { many } = this.rows;
    const { online, scope } = this.run.context.deployment;
    const featureIds = this.#read.map((feature) => feature.featureId as number);
    const read = { namespace: many.foreign.name, keys, featureIds, asOf: ms };
    const { values } = await online.read(scope, { values: [read], rows: [] });
    const stored = values[0] ?? [];
    const storedValue = (at: number, feature: ScalarInfo): FeatureValue => {
      if (feature.primary) return primaryKeyOf(keys[at] as string);
      return this.#fresh(feature, stored[at]?.[this.#read.indexOf(feature)], ms)?.value ?? null;
    };
    const columns = new Map(
      [...new Set(this.#filters.flatMap((filter) => filter.references.columns))].map((path) => [
        path,
        keys.map((_, at) => storedValue(at, many.foreign.members.get(path) as ScalarInfo)),
      ]),
    );
    const nowMicros = BigInt(Math.floor(ms)) * 1000n;
    const filtered = this.#filters.map((filter) => filter.evaluate({ rows: keys.length, columns }, { nowMicros }).values);
    const { containing, equal, foreign } = this.nearest;
    return keys.map((_, at) => {
      const vector = this.#fresh(foreign, stored[at]?.[this.#read.indexOf(foreign)], ms);
      if (!vector || !isObserved(at, vector.observedAt)) return false;
      const isEqual = equal.every((pair, place) => isSame(storedValue(at, pair.foreign), locals[place] ?? null));
      const isContaining = containing.every((pair, place) => contains(storedValue(at, pair.foreign), locals[equal.length + place] ?? null));
      return isEqual && isContaining && filtered.every((test) => test[at] === true);
    });
  }

  /** A stored value that is not too old for the query. */
  #fresh(feature: ScalarInfo, stored: StoredValue | undefined, ms: number): StoredValue | undefined {
    if (!stored || stored.resolver === EVICTED || stored.observedAt > ms) return undefined;
    return ms - stored.observedAt <= this.#oldest(feature) ? stored : undefined;
  }

  #oldest(feature: ScalarInfo): number {
    return this.rows.oldest?.(feature) ?? 0;
  }

  async #search(wanted: readonly (readonly number[])[], limit: number, ms: number): Promise<readonly FoundVectors[]> {
    if (wanted.length === 0) return [];
    const { deployment, signal } = this.run.context;
    const { foreign, form, metric } = this.nearest;
    if (!deployment.vectors || foreign.featureId === undefined) throw new Error("nothing is searched here");
    const { fqn, featureId, namespace } = foreign;
    const feature = { scope: deployment.scope, namespace, featureId, fqn, form };
    const search = { wanted: Float64Array.from(wanted.flat()), metric, limit, from: ms - this.#oldest(foreign), until: ms };
    return deployment.vectors.nearest(feature, search, signal);
  }

  #argumentsOf(row: Row): FeatureValue[] {
    return this.op.inputs.map((input) => argumentOf(this.run, input, row));
  }

  /** Places of parents by their time, epoch milliseconds. */
  #byTime(parents: readonly Row[]): ReadonlyMap<number, readonly number[]> {
    return Map.groupBy(parents.keys(), (place) => this.run.timeOf(parents[place] as Row).ms);
  }
}

function isSame(value: FeatureValue, other: FeatureValue): boolean {
  return value !== null && other !== null && encodeStored(value) === encodeStored(other);
}

function contains(text: FeatureValue, part: FeatureValue): boolean {
  return typeof text === "string" && typeof part === "string" && text.includes(part);
}
