/** The offline store: point-in-time samples of files, and moves to the history. */

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { historyPath } from "../../src/server/stores/offline/embedded.ts";
import type { TableFeature } from "../../src/server/stores/offline/store.ts";
import type { DatabaseProcess } from "../../src/server/tables/duckdb/database-process.ts";
import { databaseConfig, processLimits } from "../../src/server/tables/duckdb/limits.ts";
import { startDatabase } from "../../src/server/tables/duckdb/start-database.ts";
import type { ChildProcess } from "../../src/server/thread/child-process.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { openEmbedded } from "../server/stores/offline/drivers.ts";
import { dtypeOf, featureVersion } from "../server/stores/offline/versions.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";

export const MIB = 1024 ** 2;
export const FEATURES = 5;
/** Age above which an observation does not count, in milliseconds. */
export const TTL_MS = 5e8;
/** Observations of all features; the spine has a tenth as many rows. */
const LARGEST = Number(process.env.SVC_BENCH_OBSERVATIONS ?? 10_000_000);
const SIZES = [LARGEST / 16, LARGEST / 4, LARGEST];
const MOVED_FEATURES = 1_000;
const MOVED_ROWS = 100;
const FLOAT64 = dtypeOf("FLOAT64");
/** Memory of the engine, and what a sample may take longer than by hand. */
const MEMORIES = [1024 * MIB, 256 * MIB];

/** SQL run in a process of its own, on a file. */
export async function withDatabase<T>(
  folder: string,
  file: string,
  memoryBytes: number,
  work: (run: (sql: string) => Promise<unknown>) => Promise<T>,
): Promise<T> {
  const limits = { memoryBytes, threads: 2 };
  const temporary = join(folder, "by-hand.tmp");
  mkdirSync(temporary, { recursive: true });
  const settings = { libraryFolders: [], file, config: databaseConfig(limits, temporary) };
  const database: ChildProcess<DatabaseProcess, typeof settings> = startDatabase({
    name: "the database by hand",
    settings,
    limits: processLimits(limits),
    folder,
  });
  try {
    const connection = await database.call("connect");
    return await work((sql) => database.call("run", connection, sql));
  } finally {
    await database.call("run", await database.call("connect"), "checkpoint").catch(() => undefined);
    await database.close();
  }
}

/** A folder with so many observations in order, and a spine. */
export async function fill(folder: string, observations: number): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const store = openEmbedded(folder);
  for (let id = 1; id <= FEATURES; id++)
    await store.append([
      {
        version: featureVersion(id, { dtype: FLOAT64 }),
        deploymentId: "dpl_1",
        resolver: "m.f",
        op: "query",
        keys: ["i:1"],
        observedAt: [1],
        values: [1],
      },
    ]);
  await store.exportKeys({ environmentId: "env_1", namespace: "user" }, join(folder, "keys.parquet"));
  await store.close();
  await withDatabase(folder, historyPath(join(folder, "offline.db")), 1024 * MIB, async (run) => {
    await run(`insert into history_1 select f, k, v, null, t, t + 5000, null, i + 100, 1, 2, 'query' from (
      select i, 1 + i % ${FEATURES} as f, (hash(i) % ${Math.ceil(observations / 100)})::bigint as k, random() as v,
        1.7e12 + floor(hash(i * 7) % 1000000) * 1000 as t from range(${observations}) r(i)) order by f, k, t, i`);
    await run(`copy (select (hash(i * 3) % ${Math.round(observations / 90)})::bigint as id,
      make_timestamptz((1.7e15 + (hash(i * 11) % 1000000) * 1e6)::bigint) as ts from range(${Math.floor(observations / 10)}) r(i))
      to '${folder}/spine.parquet' (format parquet)`);
  });
}

/** The same sample as a person would write it: correct where times are equal. */
async function byHand(folder: string, memoryBytes: number): Promise<number> {
  return withDatabase(folder, historyPath(join(folder, "offline.db")), memoryBytes, async (run) => {
    await run("select 1");
    const from = performance.now();
    await run(`create temp table s as select file_row_number as rn, id, epoch_us(ts) / 1000.0 as t
      from read_parquet('${folder}/spine.parquet', file_row_number = true)`);
    for (let id = 1; id <= FEATURES; id++)
      await run(`create temp table f${id} as select case when s.t - o.observed_at <= ${TTL_MS} then o.value end as v from s asof left join
        (select key, value, observed_at, sequence from history_1 where feature = ${id}) o
        on s.id = o.key and {t: s.t, q: 9223372036854775807} >= {t: o.observed_at, q: o.sequence} order by s.rn`);
    const columns = Array.from({ length: FEATURES }, (_, n) => `f${n + 1}.v as "user.f${n + 1}"`).join(", ");
    const joined = Array.from({ length: FEATURES }, (_, n) => `f${n + 1}`).join(" positional join ");
    await run(
      `copy (select ${columns} from ${joined}) to '${folder}/by-hand.parquet' (format parquet, compression zstd, row_group_size 122880)`,
    );
    return performance.now() - from;
  });
}

const bySvc = (folder: string, memoryBytes: number, asKnown = false): Promise<number> => sampleBySvc(folder, { memoryBytes, asKnown });

/**
 * Milliseconds of a sample by the store, with columns of the spine in `keep`. `onStart` is told its
 * process, `onReady` is called before the sample and `onSampled` after it, while that process is
 * still there.
 */
export async function sampleBySvc(
  folder: string,
  options: {
    readonly memoryBytes: number;
    readonly asKnown?: boolean;
    readonly onStart?: (pid: number) => void;
    readonly keep?: readonly string[];
    readonly onReady?: () => void;
    readonly onSampled?: () => void;
  },
): Promise<number> {
  const { memoryBytes, asKnown = false, keep = [], onStart, onReady, onSampled } = options;
  const store = openEmbedded(folder, { limits: { memoryBytes, threads: 2 }, ...(onStart && { onStart }) });
  const features: TableFeature[] = Array.from({ length: FEATURES }, (_, n) => ({
    featureId: n + 1,
    dtype: FLOAT64,
    column: `user.f${n + 1}`,
    ttlMs: TTL_MS,
  }));
  try {
    await store.scan(1, { limit: 1 });
    onReady?.();
    const from = performance.now();
    await store.sampleTable({
      spine: { path: join(folder, "spine.parquet"), key: "id", time: "ts" },
      features,
      bounds: { asKnown },
      keep,
      target: join(folder, "by-svc.parquet"),
    });
    const ms = performance.now() - from;
    onSampled?.();
    return ms;
  } finally {
    await store.close();
  }
}

/** Fails when the two wrote something else. */
async function compare(folder: string): Promise<void> {
  await withDatabase(folder, ":memory:", 1024 * MIB, async (run) => {
    const numbered = (name: string) => `(select row_number() over () as n, * from read_parquet('${folder}/${name}.parquet'))`;
    await run(`select case when count(*) > 0 then error('the samples differ') end from
      (from ${numbered("by-hand")} except all from ${numbered("by-svc")})`);
  });
}

/** Milliseconds of a move of many features, and bytes that a row takes then. */
async function moving(folder: string): Promise<{ readonly ms: number; readonly bytes: number }> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  let ms = 0;
  const store = openEmbedded(folder, {
    between: async (method, call) => {
      const from = performance.now();
      const answer = await call();
      if (method === "move") ms = performance.now() - from;
      return answer;
    },
  });
  const keys = Array.from({ length: MOVED_ROWS }, (_, n) => `i:${n * 7}`);
  for (let round = 0; round < 2; round++) {
    await store.append(
      Array.from({ length: MOVED_FEATURES }, (_, n) => ({
        version: featureVersion(n + 1, { dtype: FLOAT64 }),
        deploymentId: "dpl_1",
        resolver: "m.f",
        op: "query",
        keys,
        observedAt: keys.map((_, at) => 1.7e12 + round * 1_000 + at),
        values: keys.map(() => Math.random()),
      })),
    );
    await store.scan(1, { limit: 1 });
    await store.exportKeys({ environmentId: "env_0", namespace: "none" }, join(folder, "keys.parquet"));
  }
  await store.close();
  await withDatabase(folder, historyPath(join(folder, "offline.db")), 1024 * MIB, (run) => run("checkpoint"));
  return { ms, bytes: Bun.file(historyPath(join(folder, "offline.db"))).size / (2 * MOVED_FEATURES * MOVED_ROWS) };
}

/** Samples against the same SQL by hand on the same file, and a move of a thousand features. */
export async function measureOffline(sandbox: Pick<Sandbox, "work">, rounds: number): Promise<readonly Line[]> {
  const lines: Line[] = [];
  for (const size of SIZES.map(Math.round)) {
    const folder = join(sandbox.work, `offline-${size}`);
    await fill(folder, size);
    const subjects = Object.fromEntries(
      MEMORIES.flatMap((memory) => [
        [`hand ${memory}`, () => byHand(folder, memory)],
        [`svc ${memory}`, () => bySvc(folder, memory)],
      ]),
    );
    const measured = await interleave<string, number>(rounds, { ...subjects, known: () => bySvc(folder, MEMORIES[0] as number, true) });
    const of = (name: string): number => median(measured[name] as number[]);
    await bySvc(folder, MEMORIES[0] as number);
    await compare(folder);
    const anchor = `hand ${MEMORIES[0]}`;
    const what = `${size / 10} rows x ${FEATURES} of ${size}`;
    lines.push({ what: `${what}, by hand`, value: milliseconds(of(anchor)) });
    for (const memory of MEMORIES)
      for (const who of ["hand", "svc"])
        if (`${who} ${memory}` !== anchor)
          lines.push({
            what: `${what}, ${who === "svc" ? "svc" : "by hand"} in ${memory / MIB} MiB`,
            value: milliseconds(of(`${who} ${memory}`)),
            ratio: of(`${who} ${memory}`) / of(anchor),
            anchor: "by hand",
          });
    lines.push({ what: `${what}, svc as known`, value: milliseconds(of("known")), ratio: of("known") / of(anchor), anchor: "by hand" });
    rmSync(folder, { recursive: true, force: true });
  }
  const moves = await interleave(rounds, { move: () => moving(join(sandbox.work, "moving")) });
  lines.push({
    what: `move of ${MOVED_ROWS} rows of ${MOVED_FEATURES} features`,
    value: milliseconds(median(moves.move.map(({ ms }) => ms))),
  });
  lines.push({ what: "a moved row on the disk", value: `${median(moves.move.map(({ bytes }) => bytes)).toFixed(0)} bytes` });
  return lines;
}
