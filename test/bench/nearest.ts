/**
 * The nearest of 100,000 vectors of 128, 384 and 768 dimensions: by the exact search, with its rough
 * copies and without them, and by a graph (HNSW) of usearch, which this project does not have. In
 * processor time, so that a busy machine tells the same.
 *
 *   npm install --prefix FOLDER usearch && bun test/bench/nearest.ts --usearch=FOLDER [--sizes=128,384,768] [--rows=100000]
 *
 * Vectors are of 1000 clusters, as embeddings are; ten are searched for, and ten of those that a
 * condition leaves of each hundred, for which a search without conditions is repeated with eight
 * times the number until there are enough, as `query/ops/nearest-rows.ts` does.
 */

import { createRequire } from "node:module";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type VectorBatch, VectorMemory } from "../../src/server/vectors/vector-memory.ts";
import { randomOf } from "../server/query/random-values.ts";
import { median } from "./figures.ts";

const { values: options } = parseArgs({
  options: { usearch: { type: "string" }, sizes: { type: "string", default: "128,384,768" }, rows: { type: "string", default: "100000" } },
});
const ROWS = Number(options.rows);
const CLUSTERS = 1_000;
const WANTED = 30;
const LIMIT = 10;
const BATCH = 1_000;
const REPLACED = 500;

/** A search that is compared: rows are numbers. */
interface Subject {
  readonly name: string;
  put(first: number, elements: Float32Array): void;
  nearest(wanted: Float32Array, limit: number): readonly number[];
}

/** The part of usearch's index that is used. */
interface Graph {
  add(keys: BigUint64Array, vectors: Float32Array, threads: number): void;
  remove(key: bigint): void;
  search(vector: Float32Array, limit: number, threads: number): { readonly keys: BigUint64Array };
}

const random = randomOf(1);
const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

function exact(size: number, isPlain: boolean): Subject {
  const memory = new VectorMemory({ size, isDouble: false }, { isPlain });
  const batchOf = (first: number, elements: Float32Array): VectorBatch => {
    const rows = elements.length / size;
    return {
      keys: Array.from({ length: rows }, (_, at) => `i:${first + at}`),
      elements,
      observedAt: new Float64Array(rows).fill(1),
      expiresAt: new Float64Array(rows).fill(Number.POSITIVE_INFINITY),
    };
  };
  return {
    name: isPlain ? "exact, without copies" : "exact",
    put: (first, elements) => memory.put(batchOf(first, elements)),
    nearest(wanted, limit) {
      const [found] = memory.search({ wanted: Float64Array.from(wanted), metric: "cosine", limit, from: 0, until: 2 });
      return (found?.keys ?? []).map((key) => Number(key.slice(2)));
    },
  };
}

function graph(size: number, folder: string): Subject {
  const { Index } = createRequire(join(folder, "package.json"))("usearch") as { Index: new (options: object) => Graph };
  const index = new Index({
    ...{ dimensions: size, metric: "cos", quantization: "f32", connectivity: 16 },
    ...{ expansion_add: 128, expansion_search: 64, multi: false },
  });
  let held = 0;
  return {
    name: "HNSW of usearch",
    put(first, elements) {
      const rows = elements.length / size;
      if (first < held) for (let at = 0; at < rows; at++) index.remove(BigInt(first + at));
      index.add(
        BigUint64Array.from({ length: rows }, (_, at) => BigInt(first + at)),
        elements,
        1,
      );
      held = Math.max(held, first + rows);
    },
    nearest: (wanted, limit) => Array.from(index.search(wanted, limit, 1).keys, Number),
  };
}

/** Milliseconds of processor time that work takes. */
function spent(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { system, user } = process.cpuUsage(before);
  return (system + user) / 1_000;
}

/** Those of the nearest rows that a condition keeps: one of a hundred. */
function filtered({ nearest }: Subject, wanted: Float32Array): readonly number[] {
  for (let limit = 64; ; limit *= 8) {
    const found = nearest(wanted, limit);
    const kept = found.filter((row) => row % 100 === 7).slice(0, LIMIT);
    if (kept.length === LIMIT || found.length < limit) return kept;
  }
}

/** The part of the right rows that was found. */
function recall(right: readonly (readonly number[])[], found: readonly (readonly number[])[]): number {
  const hits = right.map((rows, at) => rows.filter((row) => found[at]?.includes(row)).length);
  return hits.reduce((sum, one) => sum + one, 0) / right.flat().length;
}

for (const size of options.sizes.split(",").map(Number)) {
  const centres = Float32Array.from({ length: CLUSTERS * size }, normal);
  const vector = (): Float32Array => {
    const cluster = Math.floor(random() * CLUSTERS) * size;
    return Float32Array.from({ length: size }, (_, at) => (centres[cluster + at] as number) + normal() * 0.7);
  };
  const data = new Float32Array(ROWS * size);
  for (let row = 0; row < ROWS; row++) data.set(vector(), row * size);
  const wanted = Array.from({ length: WANTED }, vector);
  const makers = [
    () => exact(size, true),
    () => exact(size, false),
    ...(options.usearch ? [() => graph(size, options.usearch as string)] : []),
  ];
  let right: { readonly all: readonly (readonly number[])[]; readonly kept: readonly (readonly number[])[] } | undefined;
  for (const make of makers) {
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    const subject = make();
    const built = spent(() => {
      for (let row = 0; row < ROWS; row += BATCH) subject.put(row, data.slice(row * size, (row + BATCH) * size));
    });
    Bun.gc(true);
    const bytes = process.memoryUsage.rss() - before;
    const measured = (search: (one: Float32Array) => readonly number[]) => {
      const found: (readonly number[])[] = [];
      const times = wanted.map((one) => spent(() => found.push(search(one))));
      return { found, ms: median(times) };
    };
    const all = measured((one) => subject.nearest(one, LIMIT));
    const kept = measured((one) => filtered(subject, one));
    right ??= { all: all.found, kept: kept.found };
    const replaced = spent(() => {
      for (let row = 0; row < REPLACED; row++) subject.put(row, wanted[row % WANTED] as Float32Array);
    });
    console.log(
      [
        `${size} dimensions, ${subject.name}: filled in ${(built / 1_000).toFixed(1)} s, ${(bytes / 1e6).toFixed(0)} MB more`,
        `search ${all.ms.toFixed(2)} ms, recall ${recall(right.all, all.found).toFixed(3)}`,
        `with a condition ${kept.ms.toFixed(2)} ms, recall ${recall(right.kept, kept.found).toFixed(3)}`,
        `a replaced vector ${((replaced * 1_000) / REPLACED).toFixed(0)} µs`,
      ].join("; "),
    );
  }
}
