/** Groups of rows: an aggregate for each combination of values of some columns. */

import { type DataType, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { type FeatureValue, primitiveOf } from "../value.ts";
import type { Accumulator, MakeAccumulator } from "./accumulators.ts";
import { canonicalForm, valueOrder } from "./aggregations.ts";
import { identity } from "./compare.ts";
import { EvaluationError } from "./evaluation-error.ts";
import { DamagedState, StateReader, StateWriter } from "./state-bytes.ts";

/** Groups of one value at most. */
export const MAX_GROUPS = 1_000;
/**
 * Bytes of a state of groups at most: as many groups as there can be of every aggregation whose
 * state does not grow with the length of values.
 */
export const MAX_GROUPED_BYTES = 4 * 1024 * 1024;
const VERSION = 1;

const { INT64, STRING, BOOL, BYTES, DATE, DATETIME, TIMEDELTA, DECIMAL } = PrimitiveType;
const GROUPABLE: ReadonlySet<PrimitiveType> = new Set([INT64, STRING, BOOL, BYTES, DATE, DATETIME, TIMEDELTA, DECIMAL]);

/** Whether rows can be told apart by values of a type: equal ones are the same. */
export function isGroupable(type: DataType): boolean {
  return GROUPABLE.has(primitiveOf(type));
}

/** The fields of the structs that groups come to. */
export interface GroupFields {
  /** The columns by which rows are told apart. */
  readonly columns: readonly { readonly name: string; readonly type: DataType }[];
  /** Name of the field with the aggregate. */
  readonly value: string;
}

/** What is known of each group. */
export class Groups<T> {
  readonly #found = new Map<string, { readonly values: readonly FeatureValue[]; readonly item: T }>();
  readonly #canonical: readonly ((value: FeatureValue) => FeatureValue)[];
  readonly #orders: readonly ((a: FeatureValue, b: FeatureValue) => number)[];

  constructor(
    readonly fields: GroupFields,
    readonly make: () => T,
  ) {
    this.#canonical = fields.columns.map(({ type }) => canonicalForm(type));
    this.#orders = fields.columns.map(({ type }) => valueOrder(type));
  }

  /** What is known of the group with some values; undefined = it would be one too many. */
  of(values: readonly FeatureValue[]): T | undefined {
    const own = values.map((value, at) => (value === null ? null : (this.#canonical[at]?.(value) ?? value)));
    const key = identity(own);
    const known = this.#found.get(key);
    if (known) return known.item;
    if (this.#found.size >= MAX_GROUPS) return undefined;
    const item = this.make();
    this.#found.set(key, { values: own, item });
    return item;
  }

  /** The groups in the order of their values. */
  sorted(): readonly { readonly values: readonly FeatureValue[]; readonly item: T }[] {
    return [...this.#found.values()].sort((a, b) => this.#compare(a.values, b.values));
  }

  #compare(a: readonly FeatureValue[], b: readonly FeatureValue[]): number {
    for (const [at, order] of this.#orders.entries()) {
      const [x, y] = [a[at] ?? null, b[at] ?? null];
      const found = x === null || y === null ? Number(x !== null) - Number(y !== null) : order(x, y);
      if (found !== 0) return found;
    }
    return 0;
  }

  /** A struct for each group, with its aggregate. */
  structs(aggregate: (item: T) => FeatureValue): FeatureValue {
    const { columns, value } = this.fields;
    return this.sorted().map(({ values, item }) =>
      Object.fromEntries([...columns.map(({ name }, at) => [name, values[at] ?? null] as const), [value, aggregate(item)]]),
    );
  }
}

/** The error of rows with more groups than a value holds. */
export function tooManyGroups(): EvaluationError {
  return new EvaluationError(`the rows have more than ${MAX_GROUPS} groups; group them by fewer different values`);
}

/** The error of groups that are more than tiles keep. */
function tooLargeGroups(groups: number): EvaluationError {
  return new EvaluationError(
    `the ${groups} groups take more than the ${MAX_GROUPED_BYTES / 1024 ** 2} MiB that are kept of a bucket; group by fewer or shorter values, aggregate shorter ones, or leave out materialization=`,
  );
}

/** An accumulator for each group; `add` is given the values of a row's columns last. */
class GroupedAccumulator implements Accumulator {
  readonly #groups: Groups<Accumulator>;
  readonly #width: number;
  #isFull = false;

  constructor(fields: GroupFields, make: MakeAccumulator) {
    this.#groups = new Groups(fields, make);
    this.#width = fields.columns.length;
  }

  add(value: FeatureValue, order: FeatureValue, ...by: FeatureValue[]): void {
    const at = by.length - this.#width;
    this.#of(by.slice(at))?.add(value, order, ...by.slice(0, at));
  }

  merge(encoded: Uint8Array): void {
    const reader = new StateReader(encoded, VERSION);
    const isFull = reader.byte();
    if (isFull > 1) throw new DamagedState("the state is neither full nor not");
    for (let left = reader.count(); left > 0; left--) {
      const values = Array.from({ length: this.#width }, () => reader.value());
      const state = reader.bytes();
      this.#of(values)?.merge(state);
    }
    reader.end();
    this.#isFull ||= isFull === 1;
  }

  encode(): Uint8Array {
    const groups = this.#isFull ? [] : this.#groups.sorted();
    const writer = new StateWriter(VERSION, MAX_GROUPED_BYTES).byte(Number(this.#isFull)).natural(groups.length);
    for (const { values, item } of groups) {
      for (const value of values) writer.value(value);
      writer.bytes(item.encode());
      if (writer.length > MAX_GROUPED_BYTES) throw tooLargeGroups(groups.length);
    }
    return writer.done();
  }

  result(): FeatureValue {
    if (this.#isFull) throw tooManyGroups();
    return this.#groups.structs((item) => item.result());
  }

  #of(values: readonly FeatureValue[]): Accumulator | undefined {
    const found = this.#groups.of(values);
    if (!found) this.#isFull = true;
    return found;
  }
}

/** Accumulators that keep the aggregates of groups apart. */
export function groupedAccumulator(fields: GroupFields, make: MakeAccumulator): MakeAccumulator {
  return () => new GroupedAccumulator(fields, make);
}
