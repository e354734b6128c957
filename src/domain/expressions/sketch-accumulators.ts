/** Accumulators whose states are sketches. */

import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import { DistinctSketch } from "../sketches/distinct.ts";
import { ExtremeRows } from "../sketches/extreme-rows.ts";
import { HeavyHitters } from "../sketches/heavy-hitters.ts";
import { QuantileSketch } from "../sketches/quantiles.ts";
import { type FeatureValue, primitiveOf } from "../value.ts";
import type { Accumulator, AccumulatorEntry } from "./accumulators.ts";
import { canonicalForm, keyOrder, roundedLength, valueOrder } from "./aggregations.ts";

interface Sketch {
  merge(state: Uint8Array): void;
  encode(): Uint8Array;
}

/**
 * An accumulator of the values that are not null, or of the rows that have such a value and a key.
 */
function accumulate<S extends Sketch>(
  sketch: S,
  put: (value: FeatureValue, key: FeatureValue) => void,
  result: () => FeatureValue,
  needsKey = false,
): Accumulator {
  return {
    add: (value, _, key = null) => {
      if (value !== null && (!needsKey || key !== null)) put(value, key);
    },
    merge: (encoded) => sketch.merge(encoded),
    encode: () => sketch.encode(),
    result,
  };
}

function extremeRows(sign: 1 | -1, isList: boolean): AccumulatorEntry {
  return {
    choose:
      (column, [most = 1], key) =>
      () => {
        const rows = new ExtremeRows(sign, most as number, keyOrder(key), valueOrder(column));
        const result = (): FeatureValue => (isList ? rows.result() : (rows.result()[0] ?? null));
        return accumulate(rows, (value, by) => rows.add(value, by), result, true);
      },
  };
}

/** The entries of the approximate aggregations, and of those by a key. */
export const SKETCH_ACCUMULATORS: readonly (readonly [name: string, entry: AccumulatorEntry])[] = [
  [
    "approx_count_distinct",
    {
      choose: (column) => () => {
        const [sketch, own] = [new DistinctSketch(), canonicalForm(column)];
        return accumulate(
          sketch,
          (value) => sketch.add(own(value)),
          () => sketch.result(),
        );
      },
    },
  ],
  [
    "approx_percentile",
    {
      choose: (column, [quantile]) => {
        const isLength = column !== undefined && primitiveOf(column) === PrimitiveType.TIMEDELTA;
        return () => {
          const sketch = new QuantileSketch();
          const result = (): number | null => sketch.result(quantile as number);
          return accumulate(sketch, (value) => sketch.add(Number(value)), isLength ? () => roundedLength(result()) : result);
        };
      },
    },
  ],
  [
    "approx_top_k",
    {
      choose:
        (column, [most]) =>
        () => {
          const [sketch, own] = [new HeavyHitters(valueOrder(column)), canonicalForm(column)];
          return accumulate(
            sketch,
            (value) => sketch.add(own(value)),
            () => sketch.result(most as number),
          );
        },
    },
  ],
  ["min_by", extremeRows(-1, false)],
  ["max_by", extremeRows(1, false)],
  ["min_by_n", extremeRows(-1, true)],
  ["max_by_n", extremeRows(1, true)],
];
