/** Workers in containers against workers that are processes: their start, and calls of one row. */

import { createDockerEngine } from "../../src/server/engines/docker/docker-engine.ts";
import { launchIn } from "../../src/server/images/container-process.ts";
import { startPodman } from "../harness/podman.ts";
import { importPython, PYTHON } from "../harness/python-image.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import { startPool } from "../server/python/project.ts";
import { interleave, type Line, median, milliseconds } from "./figures.ts";

const CALLS = 500;
const PROJECT = {
  "resolvers.py": `from svc import online
from svc.features import features

@features
class User:
    id: int
    twice: int

@online
def twice(id: User.id) -> User.twice:
    return id * 2
`,
};

/** Pools of one worker, of the same project. */
export async function measureWorkerContainers(_: Sandbox, rounds: number): Promise<readonly Line[]> {
  await using podman = await startPodman();
  importPython(podman);
  const engine = createDockerEngine(podman.address.slice("unix://".length));
  const limits = { cpus: undefined, memoryBytes: undefined, memory: "", hasNetwork: false };
  const inContainer = { python: "python3", launch: launchIn({ engine, user: "0", image: PYTHON, labels: {}, ...limits }) };
  const measure = async (options: Parameters<typeof startPool>[1]): Promise<{ readonly start: number; readonly call: number }> => {
    const begun = performance.now();
    await using pool = await startPool(PROJECT, { size: 1, resolverFqns: ["resolvers.twice"], ...options });
    const start = performance.now() - begun;
    for (let id = 0; id < CALLS; id++) await pool.value("resolvers.twice", { id });
    const first = performance.now();
    for (let id = 0; id < CALLS; id++) await pool.value("resolvers.twice", { id });
    const call = (performance.now() - first) / CALLS;
    return { start, call };
  };
  const measured = await interleave(rounds, {
    process: () => measure({}),
    container: () => measure(inContainer),
  });
  const of = (name: keyof typeof measured, what: "start" | "call"): number => median(measured[name].map((one) => one[what]));
  return [
    { what: "pool of processes, start", value: milliseconds(of("process", "start")) },
    {
      what: "pool of containers, start",
      value: milliseconds(of("container", "start")),
      ratio: of("container", "start") / of("process", "start"),
      anchor: "of processes",
    },
    { what: "call of one row, process", value: milliseconds(of("process", "call")) },
    {
      what: "call of one row, container",
      value: milliseconds(of("container", "call")),
      ratio: of("container", "call") / of("process", "call"),
      anchor: "of a process",
    },
  ];
}
