/** The peer's point-in-time samples: Feast's historical retrieval of the same observations. */

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Sandbox } from "../harness/sandbox.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { FEATURES, fill, MIB, sampleBySvc, TTL_MS, withDatabase } from "./offline.ts";
import { FEAST, installFeast, VENV } from "./peer.ts";

/** Observations of all features; the spine has a tenth as many rows. */
const OBSERVATIONS = Number(process.env.SVC_BENCH_OBSERVATIONS ?? 1_000_000);
const MEMORY = 512 * MIB;

/** What a sample took. */
interface Taken {
  readonly ms: number;
  /** The most memory of its process, in bytes. */
  readonly memory: number;
}

/** The store's samples against Feast's. Without Feast there is one line that says why. */
export async function measureHistorical(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  const missing = await installFeast();
  if (missing !== undefined) return [{ what: `skipped: ${FEAST} could not be installed`, value: missing }];
  const folder = join(sandbox.work, "historical");
  await fill(folder, OBSERVATIONS);
  await giveFeast(folder);
  const bySvc = async (): Promise<Taken> => {
    let pid = 0;
    let memory = 0;
    const ms = await sampleBySvc(folder, {
      memoryBytes: MEMORY,
      onStart: (started) => {
        pid = started;
      },
      onSampled: () => {
        memory = mostMemoryOf(pid);
      },
    });
    return { ms, memory };
  };
  const taken = await interleave<string, Taken>(rounds, { feast: () => byFeast(sandbox, folder), svc: bySvc });
  await compare(folder);
  rmSync(folder, { recursive: true, force: true });
  const [feast, svc] = [taken.feast as Taken[], taken.svc as Taken[]];
  const what = `${OBSERVATIONS / 10} rows x ${FEATURES} of ${OBSERVATIONS}`;
  const of = (all: readonly Taken[], figure: keyof Taken): number => median(all.map((one) => one[figure]));
  return [
    { what: `${what}, Feast`, value: milliseconds(of(feast, "ms")) },
    { what: `${what}, svc`, value: milliseconds(of(svc, "ms")), ratio: of(svc, "ms") / of(feast, "ms"), anchor: "Feast" },
    { what: "most memory, Feast", value: mebibytes(of(feast, "memory")) },
    {
      what: "most memory, svc's process of the history",
      value: mebibytes(of(svc, "memory")),
      ratio: of(svc, "memory") / of(feast, "memory"),
      anchor: "Feast",
    },
  ];
}

/** Writes each feature's observations as a file that Feast reads. */
async function giveFeast(folder: string): Promise<void> {
  await withDatabase(folder, join(folder, "offline.duckdb"), MEMORY, async (run) => {
    for (let feature = 1; feature <= FEATURES; feature++)
      await run(`copy (select key as id, make_timestamptz((observed_at * 1000)::bigint) as event_timestamp, value as f${feature}
        from history_1 where feature = ${feature}) to '${folder}/feature_${feature}.parquet' (format parquet)`);
  });
}

async function byFeast(sandbox: Sandbox, folder: string): Promise<Taken> {
  const command = [join(VENV, "bin/python"), join(import.meta.dir, "feast-history.py"), folder, String(FEATURES), String(TTL_MS)];
  const env = { ...sandbox.env, HOME: folder, FEAST_USAGE: "False" };
  const child = Bun.spawn(command, { env, stdout: "pipe", stderr: "pipe" });
  const [said, wrong, exitCode] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  if (exitCode !== 0) throw new Error(`Feast's historical retrieval failed: ${wrong.slice(-2_000)}`);
  const { seconds, memory } = JSON.parse(said.trim().split("\n").at(-1) ?? "") as { seconds: number; memory: number };
  return { ms: seconds * 1000, memory };
}

/**
 * Fails when a row of Feast's answer is another in ours. It lacks some rows of the spine, so those
 * that it has are compared; and where two observations of a key have one time, it may choose the
 * other.
 */
async function compare(folder: string): Promise<void> {
  const numbers = Array.from({ length: FEATURES }, (_, n) => n + 1);
  const rows = (key: string, time: string, prefix: string): string =>
    `select ${key}, epoch_us(${time}::timestamptz), ${numbers.map((n) => `"${prefix}f${n}"`).join(", ")}`;
  const file = (name: string): string => `read_parquet('${folder}/${name}.parquet')`;
  await withDatabase(folder, ":memory:", MEMORY, async (run) => {
    await run("set timezone = 'UTC'");
    await run(`select case when count(*) > ${OBSERVATIONS / 10_000} then error('Feast sampled something else') end from
      (${rows("id", "event_timestamp", "")} from ${file("by-feast")} except
       ${rows("s.id", "s.ts", "user.")} from ${file("spine")} s positional join ${file("by-svc")})`);
  });
}

/** The most memory that a process has had, in bytes; 0 where the system does not tell. */
function mostMemoryOf(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

function mebibytes(bytes: number): string {
  return `${(bytes / MIB).toFixed(0)} MiB`;
}
