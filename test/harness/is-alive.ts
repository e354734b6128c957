import { readdirSync, readFileSync } from "node:fs";

/**
 * Whether a process of this user's runs; one that has ended and that nobody has waited for does not.
 * One that is killed holds its files and locks until the last of its threads has ended, which the
 * first may do before the others.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (process.platform !== "linux" || !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))) return true;
    return readdirSync(`/proc/${pid}/task`).length > 1;
  } catch {
    return false;
  }
}
