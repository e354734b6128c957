/** What recording costs a query: the query log, metrics, statistics of features, and the access log. */

import { readdirSync, readFileSync } from "node:fs";
import { Sandbox } from "../harness/sandbox.ts";
import { send, serve } from "./client.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { queryProject, STORED_FEATURES } from "./generate-project.ts";
import { onOneCpu } from "./one-cpu.ts";

/** Few requests in many rounds: what disturbs the machine then disturbs both of a pair. */
const REQUESTS = 4_000;
const ROUNDS = 8;
/** Time in which threads end what the requests left them. */
const SETTLE_MS = 400;
const STORED = STORED_FEATURES.map((name) => `profile.${name}`);
const CASES = { "1 stored": STORED.slice(0, 1), "20 stored": STORED, "19 stored + Python": [...STORED.slice(1), "profile.live"] };

/**
 * Milliseconds of a query: from its request to its answer, and processor time of the server's main
 * thread and of all its threads.
 */
interface Measured {
  readonly answeredMs: number;
  readonly mainMs: number;
  readonly allMs: number;
}
const FIGURES = { "to the answer": "answeredMs", "main thread": "mainMs", "all threads": "allMs" } as const;

/**
 * Queries of a server that records, against those of one that does not, one at a time: client and
 * main thread on one CPU, the threads that keep the records on the others. Ratios are medians of
 * those of pairs, measured one right after the other.
 */
export async function measureRecording(sandbox: Sandbox, rounds: number): Promise<readonly Line[]> {
  await using other = new Sandbox();
  const servers = {
    off: { sandbox: other, ...(await serve(other, queryProject(), { SVC_BENCH_RECORDING: "off" })) },
    on: { sandbox, ...(await serve(sandbox, queryProject())) },
  };
  const subjects: Record<string, () => Promise<Measured>> = {};
  for (const [name, outputs] of Object.entries(CASES))
    for (const [recording, server] of Object.entries(servers)) {
      const { pid } = await server.sandbox.json<{ pid: number }>(["server", "status"]);
      const load = server.json(
        "/v1/query/online",
        Array.from({ length: 1_000 }, (_, id) => ({ inputs: { "profile.id": id }, outputs })),
      );
      await send({ ...load, requests: 10_000, concurrency: 4 });
      subjects[`${name}, recording ${recording}`] = () =>
        onOneCpu([process.pid], async () => {
          const before = threadsMs(pid);
          const { p50 } = await send({ ...load, requests: REQUESTS, concurrency: 1 });
          await Bun.sleep(SETTLE_MS);
          const after = threadsMs(pid);
          return { answeredMs: p50, mainMs: (after.mainMs - before.mainMs) / REQUESTS, allMs: (after.allMs - before.allMs) / REQUESTS };
        }, [pid]);
    }
  const measured = await interleave(rounds * ROUNDS, subjects);
  const of = (name: string, figure: keyof Measured): number[] => (measured[name] ?? []).map((one) => one[figure]);
  return Object.keys(subjects).flatMap((name) => {
    const anchor = name.replace(/on$/, "off");
    return Object.entries(FIGURES).map(([words, figure]) => {
      const without = of(anchor, figure);
      const ratios = of(name, figure).map((one, round) => one / (without[round] ?? Number.NaN));
      const line = { what: `${name}, ${words}`, value: milliseconds(median(of(name, figure))) };
      return name === anchor ? line : { ...line, ratio: median(ratios), anchor: "of off" };
    });
  });
}

/** Processor time of a process's main thread and of all that it has, in milliseconds. */
function threadsMs(pid: number): Omit<Measured, "answeredMs"> {
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
