/**
 * Vectors of 768 dimensions in the online store: a visit of all that are stored, packed and as the
 * JSON of before, and the exact search among 6,250, 25,000 and 100,000 of them, with the stalls of
 * the event loop meanwhile.
 */

import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteOnlineStore } from "../../src/server/stores/online/sqlite.ts";
import type { OnlineStore } from "../../src/server/stores/online/store.ts";
import { createVectors } from "../../src/server/vectors/create-vectors.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";

const SIZE = 768;
const ROWS = { "6,250": 6_250, "25,000": 25_000, "100,000": 100_000 } as const;
/** Rows that are read packed and as JSON. */
const READ = 6_250;
const FORM = { size: SIZE, isDouble: false };

/** Runs the measure; the sandbox is not needed. */
export async function measureVectors(_: Sandbox, rounds: number): Promise<readonly Line[]> {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-vectors-"));
  const store = openSqliteOnlineStore(join(folder, "online.db"), { cacheBytes: 1_048_576 });
  const vectors = createVectors(store);
  try {
    await fill(store);
    inJson(join(folder, "online.db"));
    return [...(await reads(store, rounds)), ...(await searches(vectors, rounds))];
  } finally {
    await vectors.close();
    await store.close();
    rmSync(folder, { recursive: true });
  }
}

/** Vectors that differ, of 32 bits. */
function vectorOf(seed: number): number[] {
  return Array.from({ length: SIZE }, (_, at) => Math.fround(Math.sin(seed * 7.13 + at * 1.7)));
}

/** The classes of vectors, one for each number of rows, under ids of their own. */
async function fill(store: OnlineStore): Promise<void> {
  for (const [featureId, rows] of Object.values(ROWS).entries())
    for (let from = 0; from < rows; from += 1_000) {
      const values = Array.from({ length: Math.min(1_000, rows - from) }, (_, at) => ({
        ...{ namespace: `doc${featureId}`, key: `i:${from + at}`, featureId, value: vectorOf(from + at), observedAt: 1, resolver: "m.f" },
      }));
      store.put("main", { values, rows: [] });
      await store.flush();
    }
}

/** Writes the rows of the smallest class once more, as text. */
function inJson(path: string): void {
  const db = new Database(path);
  const insert = db.query(
    "insert into online (scope, ns, pk, fid, value, observed_at, inserted_at, op) values ('main', 'json', ?, 9, ?, 1, 1, 'm.f')",
  );
  db.transaction(() => {
    for (let row = 0; row < READ; row++) insert.run(`i:${row}`, JSON.stringify(vectorOf(row)));
  })();
  db.close();
}

async function reads(store: OnlineStore, rounds: number): Promise<readonly Line[]> {
  const read = (namespace: string, featureId: number) => async () => {
    const began = performance.now();
    for (let from = 0; from < READ; from += 250) {
      const keys = Array.from({ length: 250 }, (_, at) => `i:${from + at}`);
      await store.read("main", { values: [{ namespace, keys, featureIds: [featureId] }], rows: [] });
    }
    return performance.now() - began;
  };
  const found = await interleave(rounds, { json: read("json", 9), packed: read("doc0", 0) });
  const [json, packed] = [median(found.json), median(found.packed)];
  return [
    { what: `${READ} vectors read, as JSON`, value: milliseconds(json) },
    { what: `${READ} vectors read, packed`, value: milliseconds(packed), ratio: packed / json, anchor: "of JSON" },
  ];
}

async function searches(vectors: ReturnType<typeof createVectors>, rounds: number): Promise<readonly Line[]> {
  const loaded: number[] = [];
  let longest = 0;
  const search = (featureId: number) => async () => {
    const feature = { scope: "main", namespace: `doc${featureId}`, featureId, fqn: "doc.emb", form: FORM };
    const wanted = Float64Array.from(vectorOf(featureId + 0.5));
    const began = performance.now();
    let before = began;
    const beat = setInterval(() => {
      longest = Math.max(longest, performance.now() - before - 1);
      before = performance.now();
    }, 1);
    await vectors.nearest(feature, { wanted, metric: "cosine", limit: 10, from: 0, until: 2 });
    clearInterval(beat);
    return performance.now() - began;
  };
  const names = Object.keys(ROWS) as (keyof typeof ROWS)[];
  const subjects = Object.fromEntries(names.map((name, featureId) => [name, search(featureId)])) as Record<
    keyof typeof ROWS,
    () => Promise<number>
  >;
  for (const name of names) loaded.push(await subjects[name]());
  longest = 0;
  const found = await interleave(rounds, subjects);
  const first = median(found["6,250"]);
  return [
    { what: "100,000 vectors read into memory, and the first search", value: milliseconds(loaded.at(-1) as number) },
    ...names.map((name) => {
      const took = median(found[name]);
      return {
        what: `search among ${name}`,
        value: milliseconds(took),
        ...(name !== "6,250" && { ratio: took / first, anchor: "of 6,250" }),
      };
    }),
    { what: "longest stall of the event loop by searches", value: milliseconds(longest) },
  ];
}
