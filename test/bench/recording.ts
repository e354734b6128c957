/** What the recording of metrics costs a query. */

import { readFileSync } from "node:fs";
import { Sandbox } from "../harness/sandbox.ts";
import { send, serve } from "./client.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";
import { queryProject, STORED_FEATURES } from "./generate-project.ts";
import type { Latencies } from "./load.ts";
import { onOneCpu } from "./one-cpu.ts";

const REQUESTS = 20_000;
const STORED = STORED_FEATURES.map((name) => `profile.${name}`);
const CASES = { "1 stored": STORED.slice(0, 1), "20 stored": STORED, "19 stored + Python": [...STORED.slice(1), "profile.live"] };
const FIGURES = { p50: "p50", "main thread": "mainThreadMs" } as const;

/** Latencies, and what a query took of the server's main thread. */
interface Measured extends Latencies {
  readonly mainThreadMs: number;
}

/** Queries of a server that records, against those of one that does not, one at a time. */
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
      await send({ ...load, requests: 5_000, concurrency: 4 });
      subjects[`${name}, recording ${recording}`] = () =>
        onOneCpu([pid, process.pid], async () => {
          const before = mainThreadMs(pid);
          const latencies = await send({ ...load, requests: REQUESTS, concurrency: 1 });
          return { ...latencies, mainThreadMs: (mainThreadMs(pid) - before) / REQUESTS };
        });
    }
  const measured = await interleave(rounds, subjects);
  const of = (name: string, figure: (typeof FIGURES)[keyof typeof FIGURES]) => median((measured[name] ?? []).map((one) => one[figure]));
  return Object.keys(subjects).flatMap((name) => {
    const anchor = name.replace(/on$/, "off");
    return Object.entries(FIGURES).map(([words, figure]) => ({
      what: `${name}, ${words}`,
      value: milliseconds(of(name, figure)),
      ...(name === anchor ? {} : { ratio: of(name, figure) / of(anchor, figure), anchor: "of off" }),
    }));
  });
}

/** Processor time of a process's main thread, in milliseconds. */
function mainThreadMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "latin1");
  return Number(stat.split(" ")[0]) / 1e6;
}
