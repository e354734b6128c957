/**
 * Measuring on one CPU. Waking a CPU that sleeps takes some 40 us on a virtual machine, there and
 * back, and whether one request at a time meets that depends on where the scheduler put the threads
 * of server and client: runs of the same programs then differ by 80 us.
 */

import { availableParallelism } from "node:os";

/**
 * Keeps processes, with all their threads and what they start, on one CPU as long as `work` runs.
 * Where there is no `taskset` they stay where they are.
 * @param alone processes of which only the main thread is kept there, and the others elsewhere
 */
export async function onOneCpu<T>(pids: readonly number[], work: () => Promise<T>, alone: readonly number[] = []): Promise<T> {
  const last = availableParallelism() - 1;
  if (!Bun.which("taskset") || last === 0) return work();
  const keep = (pid: number, cpus: string, what: readonly string[]): void => {
    Bun.spawnSync(["taskset", ...what, "--cpu-list", "--pid", cpus, String(pid)], { stdout: "ignore", stderr: "ignore" });
  };
  const all = ["--all-tasks"];
  for (const pid of pids) keep(pid, String(last), all);
  for (const pid of alone) {
    keep(pid, `0-${last - 1}`, all);
    keep(pid, String(last), []);
  }
  try {
    return await work();
  } finally {
    for (const pid of [...pids, ...alone]) keep(pid, `0-${last}`, all);
  }
}
