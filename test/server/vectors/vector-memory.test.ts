/** The search among vectors in memory against all distances, sorted. */

import { expect, test } from "bun:test";
import { type Metric, type VectorBatch, VectorMemory } from "../../../src/server/vectors/vector-memory.ts";
import { patience, runs, seed } from "../../harness/seed.ts";
import { randomOf } from "../query/random-values.ts";

/** A row as the test knows it. */
interface Row {
  readonly key: string;
  readonly vector: readonly number[];
  readonly observedAt: number;
}

const METRICS: readonly Metric[] = ["cosine", "l2", "dot"];

function batchOf(rows: readonly Row[], isDouble: boolean): VectorBatch {
  const flat = rows.flatMap(({ vector }) => vector);
  return {
    keys: rows.map(({ key }) => key),
    elements: isDouble ? Float64Array.from(flat) : Float32Array.from(flat),
    observedAt: Float64Array.from(rows, ({ observedAt }) => observedAt),
    expiresAt: new Float64Array(rows.length).fill(Number.POSITIVE_INFINITY),
  };
}

test(
  "random vectors give the same rows and distances with rough copies as without them",
  () => {
    const random = randomOf(seed);
    const number = (largest: number): number => Math.floor(random() * largest);
    const pick = <T>(list: readonly T[]): T => list[number(list.length)] as T;
    for (let run = 0; run < runs(60, 1_000); run++) {
      const size = pick([1, 2, 3, 15, 16, 17, 48, 200]);
      const isDouble = random() < 0.5;
      const spread = pick([1, 1, 1e-6, 1e6, ...(isDouble ? [1e-200, 1e150, 1e200] : [1e-30, 1e18])]);
      const centre = Array.from({ length: size }, () => (random() < 0.3 ? spread * pick([0, 5, 100, 1e4]) : 0));
      const steps = pick([2, 3, 1_000_000]);
      const vectorOf = (): number[] =>
        random() < 0.05
          ? new Array<number>(size).fill(0)
          : centre.map((middle) => middle + spread * (Math.round((random() - 0.5) * steps) / steps) * (random() < 0.02 ? 40 : 1));
      const [plain, rough] = [true, false].map((isPlain) => new VectorMemory({ size, isDouble }, { isPlain })) as [
        VectorMemory,
        VectorMemory,
      ];
      const count = pick([1, 7, 300, 5_000]);
      for (let batch = 0; batch < 3; batch++) {
        const rows = Array.from({ length: Math.ceil(count / 3) }, () => ({
          ...{ key: `i:${number(count)}`, vector: vectorOf(), observedAt: number(5) },
        }));
        const gone = Array.from({ length: number(4) }, () => `i:${number(count)}`);
        for (const memory of [plain, rough]) {
          memory.put(batchOf(rows, isDouble));
          memory.remove(gone, 3);
        }
      }
      const wanted = Float64Array.from([...vectorOf(), ...vectorOf()]);
      for (const metric of METRICS) {
        const search = { wanted, metric, limit: pick([1, 3, 10, 1_000]), from: pick([0, 2]), until: pick([3, 9]) };
        expect(rough.search(search), JSON.stringify({ size, isDouble, spread, count, metric })).toEqual(plain.search(search));
      }
    }
  },
  patience(300_000),
);

test("the nearest rows are those of all distances, sorted", () => {
  const random = randomOf(seed);
  const size = 20;
  const rows = Array.from({ length: 9_000 }, (_, at) => ({
    ...{ key: `i:${at}`, observedAt: 1, vector: Array.from({ length: size }, () => Math.fround(random() - 0.4)) },
  }));
  const memory = new VectorMemory({ size, isDouble: false });
  memory.put(batchOf(rows, false));
  const wanted = Float64Array.from({ length: size }, () => random() - 0.5);
  const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
    Array.from(a).reduce((sum, value, at) => sum + value * (b[at] as number), 0);
  const distances: Readonly<Record<Metric, (vector: readonly number[]) => number>> = {
    cosine: (vector) => 1 - dot(vector, wanted) / Math.sqrt(dot(vector, vector) * dot(wanted, wanted)),
    l2: (vector) => Math.sqrt(vector.reduce((sum, value, at) => sum + (value - (wanted[at] as number)) ** 2, 0)),
    dot: (vector) => -dot(vector, wanted),
  };
  for (const metric of METRICS) {
    const sorted = rows.map(({ key, vector }) => ({ key, distance: distances[metric](vector) })).sort((a, b) => a.distance - b.distance);
    const [found] = memory.search({ wanted, metric, limit: 25, from: 0, until: 2 });
    expect(found?.keys).toEqual(sorted.slice(0, 25).map(({ key }) => key));
    for (const [at, distance] of (found?.distances ?? []).entries()) expect(distance).toBeCloseTo(sorted[at]?.distance as number, 10);
  }
});
