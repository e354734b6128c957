/**
 * Aggregations in parts: states to which rows and other states are added, in any grouping, with the
 * result that the rows give at once. A state's bytes begin with the version of their form and are
 * bounded, whatever the number of rows.
 */

import { type DataType, PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { type FeatureValue, primitiveOf } from "../value.ts";
import { ratioRoot, varianceRatio } from "./aggregate.ts";
import { AGGREGATIONS, chooseFold } from "./aggregations.ts";
import { compareValues } from "./compare.ts";
import { addDecimal, compareDecimal } from "./decimal.ts";
import type { Int } from "./definition.ts";
import { ExactSum, floatOfRatio, partsOf } from "./exact-sum.ts";
import { checkedInt, divInt } from "./integer.ts";
import { checkedLength, meanOfLengths } from "./length.ts";
import { SKETCH_ACCUMULATORS } from "./sketch-accumulators.ts";
import { DamagedState, StateReader, StateWriter } from "./state-bytes.ts";
import { widener } from "./types.ts";

/** The aggregate of some rows. */
export interface Accumulator {
  /**
   * Adds a row: the value of the column, of the type for which the accumulator was chosen (`true`
   * where rows are counted), the row's feature time, and the values of further columns. A null
   * value changes nothing, but for `first` and `last`.
   */
  add(value: FeatureValue, order: FeatureValue, ...by: FeatureValue[]): void;
  /**
   * Adds the rows of a state that `encode` gave; of rows of one time, these come after. Throws
   * DamagedState for other bytes.
   */
  merge(encoded: Uint8Array): void;
  /** The state. Throws EvaluationError when its values are too large to be kept. */
  encode(): Uint8Array;
  /** The result. Throws EvaluationError where the rows have none, as for an overflow. */
  result(): FeatureValue;
}

/** Makes accumulators without rows. */
export type MakeAccumulator = () => Accumulator;

/** How accumulators of an aggregation are made. */
export interface AccumulatorEntry {
  /**
   * The accumulators for a column's type (undefined = rows are counted), constant arguments, and
   * the type of what rows are chosen by, which `add` is given behind the order; undefined when
   * there are none for them.
   */
  choose(column: DataType | undefined, literals: readonly FeatureValue[], key?: DataType): MakeAccumulator | undefined;
}

const VERSION = 1;

class Count implements Accumulator {
  #count = 0;

  constructor(readonly counts: (value: FeatureValue) => boolean = (value) => value !== null) {}

  add(value: FeatureValue): void {
    if (this.counts(value)) this.#count++;
  }

  merge(encoded: Uint8Array): void {
    const reader = new StateReader(encoded, VERSION);
    this.#count += reader.count();
    reader.end();
  }

  encode(): Uint8Array {
    return new StateWriter(VERSION).natural(this.#count).done();
  }

  result(): FeatureValue {
    return this.#count;
  }
}

/** Whether a row with a value was there: `any` looks for true, and `all` for false. */
class Found implements Accumulator {
  #found = false;

  constructor(readonly sought: boolean) {}

  add(value: FeatureValue): void {
    if (value === this.sought) this.#found = true;
  }

  merge(encoded: Uint8Array): void {
    const reader = new StateReader(encoded, VERSION);
    const found = reader.byte();
    reader.end();
    if (found > 1) throw new DamagedState("the state is neither true nor false");
    this.#found ||= found === 1;
  }

  encode(): Uint8Array {
    return new StateWriter(VERSION).byte(Number(this.#found)).done();
  }

  result(): FeatureValue {
    return this.#found === this.sought;
  }
}

/** Number, sum and, where they are needed, sum of squares of ints and lengths of time, exact. */
class IntMoments implements Accumulator {
  #count = 0;
  #sum = 0n;
  #squares = 0n;
  #fastSum = 0;

  constructor(
    readonly hasSquares: boolean,
    readonly finish: (count: number, sum: bigint, squares: bigint) => FeatureValue,
  ) {}

  add(value: FeatureValue): void {
    if (value === null) return;
    this.#count++;
    const next = typeof value === "number" && !this.hasSquares ? this.#fastSum + value : Number.NaN;
    if (Number.isSafeInteger(next)) this.#fastSum = next;
    else {
      const exact = BigInt(value as Int);
      this.#sum += exact;
      if (this.hasSquares) this.#squares += exact * exact;
    }
  }

  merge(encoded: Uint8Array): void {
    const reader = new StateReader(encoded, VERSION);
    const [count, sum, squares] = [reader.count(), reader.integer(), this.hasSquares ? reader.natural() : 0n];
    reader.end();
    this.#count += count;
    this.#sum += sum;
    this.#squares += squares;
  }

  encode(): Uint8Array {
    const writer = new StateWriter(VERSION).natural(this.#count).integer(this.#total());
    return (this.hasSquares ? writer.natural(this.#squares) : writer).done();
  }

  result(): FeatureValue {
    return this.finish(this.#count, this.#total(), this.#squares);
  }

  #total(): bigint {
    return this.#sum + BigInt(this.#fastSum);
  }
}

/** What an IntMoments of bools adds up. */
class BoolMoments extends IntMoments {
  override add(value: FeatureValue): void {
    super.add(value === null ? null : Number(value));
  }
}

const NOT_A_NUMBER = 1;
const POSITIVE_INFINITY = 2;
const NEGATIVE_INFINITY = 4;

/** Exact sums of finite floats, and which others there were. */
class FloatMoments implements Accumulator {
  #count = 0;
  #others = 0;
  readonly #sum = new ExactSum();
  readonly #squares = new ExactSum();

  constructor(
    readonly hasSquares: boolean,
    readonly finish: (count: number, sum: ExactSum, squares: ExactSum) => FeatureValue,
  ) {}

  add(value: FeatureValue): void {
    if (value === null) return;
    const float = Number(value);
    this.#count++;
    if (Number.isNaN(float)) this.#others |= NOT_A_NUMBER;
    else if (!Number.isFinite(float)) this.#others |= float > 0 ? POSITIVE_INFINITY : NEGATIVE_INFINITY;
    else {
      this.#sum.add(float);
      if (!this.hasSquares) return;
      const { mantissa, exponent } = partsOf(float);
      this.#squares.addParts(mantissa * mantissa, 2 * exponent);
    }
  }

  merge(encoded: Uint8Array): void {
    const reader = new StateReader(encoded, VERSION);
    const [count, others] = [reader.count(), reader.byte()];
    if (others > 7) throw new DamagedState("the state has an unknown mark");
    const [sum, sumExponent] = [reader.integer(), Number(reader.integer())];
    const [squares, squaresExponent] = this.hasSquares ? [reader.natural(), Number(reader.integer())] : [0n, 0];
    reader.end();
    if (Math.abs(sumExponent) > 4096 || Math.abs(squaresExponent) > 4096) throw new DamagedState("the state has an impossible exponent");
    this.#count += count;
    this.#others |= others;
    this.#sum.addParts(sum, sumExponent);
    this.#squares.addParts(squares, squaresExponent);
  }

  encode(): Uint8Array {
    const sum = this.#sum.parts();
    const writer = new StateWriter(VERSION).natural(this.#count).byte(this.#others).integer(sum.mantissa).integer(sum.exponent);
    if (this.hasSquares) {
      const squares = this.#squares.parts();
      writer.natural(squares.mantissa).integer(squares.exponent);
    }
    return writer.done();
  }

  result(): FeatureValue {
    const finite = this.finish(this.#count, this.#sum, this.#squares);
    if (this.#others === 0 || finite === null) return finite;
    if (this.hasSquares) return Number.NaN;
    if (this.#others === POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
    return this.#others === NEGATIVE_INFINITY ? Number.NEGATIVE_INFINITY : Number.NaN;
  }
}

class DecimalSum implements Accumulator {
  #sum = "0";

  add(value: FeatureValue): void {
    if (value !== null) this.#sum = addDecimal(this.#sum, value as string);
  }

  merge(encoded: Uint8Array): void {
    const reader = new StateReader(encoded, VERSION);
    const sum = reader.value();
    reader.end();
    if (typeof sum !== "string" || !/^-?\d+(\.\d+)?$/.test(sum)) throw new DamagedState("the state is no decimal");
    this.add(sum);
  }

  encode(): Uint8Array {
    return new StateWriter(VERSION).value(this.#sum).done();
  }

  result(): FeatureValue {
    return this.#sum;
  }
}

/** The first row by an order, of equal ones the one that came first. */
class Best implements Accumulator {
  #best: { readonly value: FeatureValue; readonly order: FeatureValue } | undefined;

  constructor(
    readonly isBetter: (candidate: FeatureValue, best: FeatureValue) => boolean,
    readonly by: "value" | "order",
  ) {}

  add(value: FeatureValue, order: FeatureValue): void {
    if (this.by === "value" && value === null) return;
    const isBetter = this.#best === undefined || this.isBetter(this.by === "value" ? value : order, this.#best[this.by]);
    if (isBetter) this.#best = { value, order };
  }

  merge(encoded: Uint8Array): void {
    const reader = new StateReader(encoded, VERSION);
    const [isThere, value, order] = [reader.byte(), reader.value(), this.by === "order" ? reader.value() : null];
    reader.end();
    if (isThere > 1) throw new DamagedState("the state is neither there nor not");
    if (isThere === 1) this.add(value, order);
  }

  encode(): Uint8Array {
    const writer = new StateWriter(VERSION).byte(Number(this.#best !== undefined)).value(this.#best?.value ?? null);
    return (this.by === "order" ? writer.value(this.#best?.order ?? null) : writer).done();
  }

  result(): FeatureValue {
    return this.#best?.value ?? null;
  }
}

/** Order of times; rows without a time come first. */
function inTime(a: FeatureValue, b: FeatureValue): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return compareValues(a, b);
}

function extreme(sign: 1 | -1): AccumulatorEntry {
  const isBetter = (candidate: FeatureValue, best: FeatureValue): boolean =>
    !Number.isNaN(best) && (Number.isNaN(candidate) || compareValues(candidate, best) * sign > 0);
  const isBetterDecimal = (candidate: FeatureValue, best: FeatureValue): boolean =>
    compareDecimal(candidate as string, best as string) * sign > 0;
  return {
    choose: (column) => () => new Best(column && primitiveOf(column) === PrimitiveType.DECIMAL ? isBetterDecimal : isBetter, "value"),
  };
}

/** Accumulators by the primitive type of the column. */
function byType(makers: Partial<Readonly<Record<PrimitiveType, MakeAccumulator>>>): AccumulatorEntry {
  return { choose: (column) => column && makers[primitiveOf(column)] };
}

const { INT64, FLOAT64, BOOL, DECIMAL, TIMEDELTA } = PrimitiveType;

const meanOfInts = (count: number, sum: bigint): FeatureValue => (count === 0 ? null : divInt(sum, BigInt(count)));

const varianceOfFloats = (count: number, sum: ExactSum, squares: ExactSum): number | null => {
  if (count < 2) return null;
  const [first, second] = [sum.parts(), squares.parts()];
  const exponent = Math.min(2 * first.exponent, second.exponent);
  const scaledSquare = (first.mantissa * first.mantissa) << BigInt(2 * first.exponent - exponent);
  const scaledSquares = second.mantissa << BigInt(second.exponent - exponent);
  const exact = BigInt(count);
  return floatOfRatio(exact * scaledSquares - scaledSquare, exact * (exact - 1n), exponent);
};

/** The aggregations whose states are bounded, by name. */
export const ACCUMULATORS: ReadonlyMap<string, AccumulatorEntry> = new Map<string, AccumulatorEntry>([
  ["count", { choose: () => () => new Count() }],
  [
    "sum",
    byType({
      [INT64]: () => new IntMoments(false, (_, sum) => checkedInt(sum, "sum")),
      [FLOAT64]: () => new FloatMoments(false, (_, sum) => sum.value()),
      [DECIMAL]: () => new DecimalSum(),
      [BOOL]: () => new Count((value) => value === true),
      [TIMEDELTA]: () => new IntMoments(false, (_, sum) => checkedLength(sum)),
    }),
  ],
  ["min", extreme(-1)],
  ["max", extreme(1)],
  [
    "mean",
    byType({
      [INT64]: () => new IntMoments(false, meanOfInts),
      [FLOAT64]: () => new FloatMoments(false, (count, sum) => (count === 0 ? null : sum.value() / count)),
      [BOOL]: () => new BoolMoments(false, meanOfInts),
      [TIMEDELTA]: () => new IntMoments(false, (count, sum) => (count === 0 ? null : meanOfLengths(sum, count))),
    }),
  ],
  ["any", { choose: () => () => new Found(true) }],
  ["all", { choose: () => () => new Found(false) }],
  [
    "var",
    byType({
      [INT64]: () =>
        new IntMoments(true, (count, sum, squares) => {
          const ratio = varianceRatio(count, sum, squares);
          return ratio && divInt(ratio.top, ratio.bottom);
        }),
      [FLOAT64]: () => new FloatMoments(true, varianceOfFloats),
    }),
  ],
  [
    "std",
    byType({
      [INT64]: () =>
        new IntMoments(true, (count, sum, squares) => {
          const ratio = varianceRatio(count, sum, squares);
          return ratio && ratioRoot(ratio.top, ratio.bottom);
        }),
      [FLOAT64]: () =>
        new FloatMoments(true, (count, sum, squares) => {
          const variance = varianceOfFloats(count, sum, squares);
          return variance === null ? null : Math.sqrt(variance);
        }),
    }),
  ],
  ["first", { choose: () => () => new Best((candidate, best) => inTime(candidate, best) < 0, "order") }],
  ["last", { choose: () => () => new Best((candidate, best) => inTime(candidate, best) >= 0, "order") }],
  ...SKETCH_ACCUMULATORS,
]);

/** What keeps an aggregation's rows as states of a bounded size. */
export interface ChosenAccumulator {
  readonly make: MakeAccumulator;
  /** The conversion of the column's values before they are added; undefined = none is needed. */
  readonly widen: ((value: FeatureValue) => FeatureValue) | undefined;
  /** The same for what rows are chosen by. */
  readonly widenKey: ((value: FeatureValue) => FeatureValue) | undefined;
}

/**
 * The accumulators of an aggregation for a column's type, undefined where rows are counted,
 * constant arguments, and the type of what rows are chosen by, where it needs one; undefined when
 * that is missing, its states grow with the rows, or nothing has that name.
 */
export function chooseAccumulator(
  name: string,
  column: DataType | undefined,
  literals: readonly FeatureValue[],
  key?: DataType,
): ChosenAccumulator | undefined {
  const definition = AGGREGATIONS.get(name);
  const entry = ACCUMULATORS.get(name);
  if (!definition || !entry || (definition.needsKey && !key)) return undefined;
  const [widened, widenedKey] = (column && chooseFold(definition, column, key)?.match.parameters) ?? [];
  const make = entry.choose(widened ?? column, literals, widenedKey ?? key);
  return make && { make, widen: column && widened && widener(column, widened), widenKey: key && widenedKey && widener(key, widenedKey) };
}
