/** What recording costs a query: the query log, metrics, statistics of features, and the access log. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Sandbox } from "../harness/sandbox.ts";
import { encodeBodies, send as sendAlone } from "./client.ts";
import { type Line, milliseconds } from "./figures.ts";
import { STORED_FEATURES } from "./generate-project.ts";
import { type Load, send } from "./load.ts";
import { onOneCpu } from "./one-cpu.ts";

/** Few requests in many pairs: what disturbs the machine then disturbs both of a pair. */
const REQUESTS = 500;
const PAIRS = 30;
/** Time in which threads end what the requests left them: more than a record waits for others. */
const SETTLE_MS = 300;
const STORED = STORED_FEATURES.map((name) => `profile.${name}`);
const CASES = { "1 stored": STORED.slice(0, 1), "20 stored": STORED, "19 stored + Python": [...STORED.slice(1), "profile.live"] };

/**
 * Milliseconds of a query: from its request to its answer, and processor time of the servers' main
 * thread and of all their threads.
 */
interface Measured {
  readonly answeredMs: number;
  readonly mainMs: number;
  readonly allMs: number;
}
const FIGURES = { "to the answer": "answeredMs", "main thread": "mainMs", "all threads": "allMs" } as const;
const KINDS = ["off", "on"] as const;
type Place = Pick<Load, "host" | "port"> & { readonly authorization: string };

/**
 * Queries of a server that records, against those of one in the same process that does not, one at
 * a time: client and main thread on one CPU, the threads that keep the records on the others. What
 * the servers do without queries is taken off. Figures are those that a quarter of the pairs is
 * below: others on the machine only ever add to one. Beside a ratio is that of the medians.
 */
export async function measureRecording(_: Sandbox, rounds: number): Promise<readonly Line[]> {
  const servers = Bun.spawn([process.execPath, join(import.meta.dir, "recording-servers.ts")], { stdin: "pipe", stdout: "pipe" });
  try {
    const { value } = await servers.stdout.getReader().read();
    const places = JSON.parse(Buffer.from(value ?? []).toString()) as Record<(typeof KINDS)[number], Place>;
    const lines: Line[] = [];
    for (const [name, outputs] of Object.entries(CASES)) {
      const loads = KINDS.map((kind) => loadOf(places[kind], outputs));
      for (const load of loads) await sendAlone({ ...load, requests: 10_000, concurrency: 4 });
      const measure = async () => measurePairs(servers.pid, loads, rounds * PAIRS);
      lines.push(...linesOf(name, await onOneCpu([process.pid], measure, [servers.pid])));
    }
    return lines;
  } finally {
    servers.stdin.end();
    await servers.exited;
  }
}

function loadOf({ authorization, ...place }: Place, outputs: readonly string[]): Load {
  const bodies = Array.from({ length: 1_000 }, (_, id) => JSON.stringify({ inputs: { "profile.id": id }, outputs }));
  const headers = { authorization, "content-type": "application/json" };
  return { ...place, path: "/v1/query/online", headers, bodies: encodeBodies(bodies), requests: REQUESTS, concurrency: 1 };
}

/** Measures both loads so often, in one order and in the other. */
async function measurePairs(pid: number, loads: readonly Load[], pairs: number): Promise<(readonly Measured[])[]> {
  const measured: Measured[][] = loads.map(() => []);
  for (let pair = 0; pair < pairs; pair++) {
    const before = threadsMs(pid);
    await Bun.sleep(SETTLE_MS);
    const idle = difference(before, threadsMs(pid), SETTLE_MS);
    for (let step = 0; step < loads.length; step++) {
      const at = (pair + step) % loads.length;
      measured[at]?.push(await measureLoad(pid, loads[at] as Load, idle));
    }
  }
  return measured;
}

async function measureLoad(pid: number, load: Load, idle: Threads): Promise<Measured> {
  const [before, began] = [threadsMs(pid), performance.now()];
  const { p50 } = await send(load);
  await Bun.sleep(SETTLE_MS);
  const used = difference(before, threadsMs(pid), 1);
  const elapsed = performance.now() - began;
  const each = (figure: keyof Threads) => (used[figure] - idle[figure] * elapsed) / load.requests;
  return { answeredMs: p50, mainMs: each("mainMs"), allMs: each("allMs") };
}

function linesOf(name: string, [off = [], on = []]: readonly (readonly Measured[])[]): readonly Line[] {
  return Object.entries(FIGURES).flatMap(([words, figure]) => {
    const at = (measured: readonly Measured[], share: number): number =>
      quantile(
        measured.map((one) => one[figure]),
        share,
      );
    const middle = (at(on, 0.5) / at(off, 0.5)).toFixed(2);
    return [
      { what: `${name}, recording off, ${words}`, value: milliseconds(at(off, 0.25)) },
      {
        what: `${name}, recording on, ${words}`,
        value: milliseconds(at(on, 0.25)),
        ratio: at(on, 0.25) / at(off, 0.25),
        anchor: `of off (medians ${middle}x)`,
      },
    ];
  });
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? Number.NaN;
}

/** Processor time of a process's main thread and of all that it has, in milliseconds. */
type Threads = Omit<Measured, "answeredMs">;

function difference(before: Threads, after: Threads, by: number): Threads {
  return { mainMs: (after.mainMs - before.mainMs) / by, allMs: (after.allMs - before.allMs) / by };
}

function threadsMs(pid: number): Threads {
  const tasks = readdirSync(`/proc/${pid}/task`).map((task) => ({ task, ms: threadMs(`/proc/${pid}/task/${task}/schedstat`) }));
  return {
    mainMs: tasks.find(({ task }) => task === String(pid))?.ms ?? 0,
    allMs: tasks.reduce((sum, { ms }) => sum + ms, 0),
  };
}

/** Processor time of a thread; none of one that has ended. */
function threadMs(path: string): number {
  try {
    return Number(readFileSync(path, "latin1").split(" ")[0]) / 1e6;
  } catch {
    return 0;
  }
}
