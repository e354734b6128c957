/** The peer's point-in-time samples: Feast's historical retrieval of the same observations. */

import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Sandbox } from "../harness/sandbox.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { FEATURES, fill, MIB, sampleBySvc, TTL_MS, withDatabase } from "./offline.ts";
import { FEAST, installFeast, VENV } from "./peer.ts";
import { processorMs } from "./processor-time.ts";

/** Observations of all features; the spine has a tenth as many rows. */
const OBSERVATIONS = Number(process.env.SVC_BENCH_OBSERVATIONS ?? 1_000_000);
const MEMORY = 512 * MIB;

/** What a sample took. */
interface Taken {
  readonly ms: number;
  /** Time of all processors in milliseconds, which other programs of the machine hardly change. */
  readonly cpuMs: number;
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
    let [memory, cpuMs] = [0, 0];
    const used = (): number => {
      const { user, system } = process.cpuUsage();
      return processorMs(pid) + (user + system) / 1000;
    };
    const ms = await sampleBySvc(folder, {
      memoryBytes: MEMORY,
      keep: ["id", "ts"],
      onStart: (started) => {
        pid = started;
      },
      onReady: () => {
        cpuMs = -used();
      },
      onSampled: () => {
        cpuMs += used();
        memory = mostMemoryOf(pid);
      },
    });
    return { ms, cpuMs, memory };
  };
  const taken = await interleave<string, Taken>(rounds, { feast: () => byFeast(sandbox, folder), svc: bySvc });
  await compare(folder);
  rmSync(folder, { recursive: true, force: true });
  const of = (who: "feast" | "svc", figure: keyof Taken): number => median((taken[who] as Taken[]).map((one) => one[figure]));
  const both = (what: string, figure: keyof Taken, words: (value: number) => string): Line[] => [
    { what: `${what}, Feast`, value: words(of("feast", figure)) },
    { what: `${what}, svc`, value: words(of("svc", figure)), ratio: of("svc", figure) / of("feast", figure), anchor: "Feast" },
  ];
  const what = `${OBSERVATIONS / 10} rows x ${FEATURES} of ${OBSERVATIONS}`;
  return [
    ...both(what, "ms", milliseconds),
    ...both(`${what}, CPU time`, "cpuMs", milliseconds),
    ...both("most memory of the process", "memory", mebibytes),
  ];
}

/**
 * Writes each feature's observations as a file that Feast reads: of several with one time the last,
 * because it takes any of them.
 */
async function giveFeast(folder: string): Promise<void> {
  await withDatabase(folder, join(folder, "offline.duckdb"), MEMORY, async (run) => {
    for (let feature = 1; feature <= FEATURES; feature++)
      await run(`copy (select key as id, make_timestamptz((observed_at * 1000)::bigint) as event_timestamp, value as f${feature}
        from history_1 where feature = ${feature}
        qualify row_number() over (partition by key, observed_at order by sequence desc) = 1) to '${folder}/feature_${feature}.parquet' (format parquet)`);
  });
}

async function byFeast(sandbox: Sandbox, folder: string): Promise<Taken> {
  const command = [join(VENV, "bin/python"), join(import.meta.dir, "feast-history.py"), folder, String(FEATURES), String(TTL_MS)];
  const env = { ...sandbox.env, HOME: folder, FEAST_USAGE: "False" };
  const child = Bun.spawn(command, { env, stdout: "pipe", stderr: "pipe" });
  const [said, wrong, exitCode] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  if (exitCode !== 0) throw new Error(`Feast's historical retrieval failed: ${wrong.slice(-2_000)}`);
  const { seconds, cpu, memory } = JSON.parse(said.trim().split("\n").at(-1) ?? "") as Readonly<
    Record<"seconds" | "cpu" | "memory", number>
  >;
  return { ms: seconds * 1000, cpuMs: cpu * 1000, memory };
}

/**
 * Fails unless both have the same rows. Feast leaves out those for which a feature has observations
 * of the key, but none that is neither later nor too old; ours have null there. Of equal rows of the
 * spine it has one.
 */
async function compare(folder: string): Promise<void> {
  const numbers = Array.from({ length: FEATURES }, (_, n) => n + 1);
  const file = (name: string): string => `read_parquet('${folder}/${name}.parquet')`;
  const columns = (prefix: string): string => numbers.map((n) => `"${prefix}f${n}"`).join(", ");
  const isKept = numbers.map((n) => `("user.f${n}" is not null or id not in (select id from ${file(`feature_${n}`)}))`).join(" and ");
  const feast = `select id, epoch_us(event_timestamp::timestamptz), ${columns("")} from ${file("by-feast")}`;
  const svc = `select id, epoch_us(ts::timestamptz), ${columns("user.")} from ${file("by-svc")}`;
  const kept = `select distinct * from (${svc} where ${isKept})`;
  const failIf = (condition: string, of: string, message: string): string =>
    `select case when ${condition} then error('${message}') end from (${of})`;
  await withDatabase(folder, ":memory:", MEMORY, async (run) => {
    await run("set timezone = 'UTC'");
    await run(failIf(`count(*) <> ${OBSERVATIONS / 10}`, svc, "svc has not a row for each of the spine"));
    await run(failIf("count(*) = 0", feast, "Feast sampled nothing"));
    await run(failIf("count(*) > 0", `${feast} except all ${kept}`, "Feast has other rows than svc"));
    await run(failIf("count(*) > 0", `${kept} except all ${feast}`, "svc has other rows than Feast"));
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
