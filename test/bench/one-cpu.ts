/**
 * Measuring on one CPU. Waking a CPU that sleeps takes some 40 us on a virtual machine, there and
 * back, and whether one request at a time meets that depends on where the scheduler put the threads
 * of server and client: runs of the same programs then differ by 80 us.
 */

import { availableParallelism } from "node:os";

/**
 * Keeps processes, with all their threads and what they start, on one CPU as long as `work` runs.
 * Where there is no `taskset` they stay where they are.
 */
export async function onOneCpu<T>(pids: readonly number[], work: () => Promise<T>): Promise<T> {
  if (!Bun.which("taskset")) return work();
  const last = availableParallelism() - 1;
  const keepTo = (cpus: string): void => {
    for (const pid of pids) Bun.spawnSync(["taskset", "--all-tasks", "--cpu-list", "--pid", cpus, String(pid)], { stdout: "ignore" });
  };
  keepTo(String(last));
  try {
    return await work();
  } finally {
    keepTo(`0-${last}`);
  }
}
