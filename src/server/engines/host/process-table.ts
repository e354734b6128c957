/**
 * Processes of this machine as Linux tells of them in /proc: whether one is still the same, which
 * have a mark in their environment, and what they use.
 */

import { readdirSync, readFileSync } from "node:fs";

/** A process. Its number may be another's later; its start in the same boot is never. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Ticks from the boot to its start. */
  readonly start: number;
  readonly boot: string;
}

/** Ticks a second, which Linux shows to programs on all machines that svc is built for. */
const TICKS = 100;
/** Rounds in which what forks meanwhile is looked for again. */
const ROUNDS = 5;

/** Who a process is; undefined when there is none. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const start = Number(fieldsOf(pid)?.[19]);
  return start > 0 ? { pid, start, boot: bootId() } : undefined;
}

/** Whether a process runs: one that has ended and was not waited for does not. */
export function isRunning({ boot, pid, start }: ProcessIdentity): boolean {
  const fields = fieldsOf(pid);
  return fields !== undefined && Number(fields[19]) === start && fields[0] !== "Z" && fields[0] !== "X" && boot === bootId();
}

/** Processes by the value that a variable of their environment has, as far as they may be read. */
export function markedProcesses(variable: string): Map<string, number[]> {
  const found = new Map<string, number[]>();
  const pattern = new RegExp(`(?:^|\0)${variable}=([^\0]*)`);
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const mark = pattern.exec(read(`/proc/${name}/environ`) ?? "")?.[1];
    if (mark !== undefined) found.set(mark, [...(found.get(mark) ?? []), Number(name)]);
  }
  return found;
}

/** Kills all processes with a mark, those too that they start meanwhile. */
export function killMarked(variable: string, mark: string): void {
  for (let round = 0; round < ROUNDS; round++) {
    const running = (markedProcesses(variable).get(mark) ?? []).filter((pid) => fieldsOf(pid)?.[0] !== "Z");
    if (running.length === 0) return;
    for (const pid of running) signal(pid, "SIGKILL");
  }
}

/** Sends a signal to a process, or with a negative number to a group; does nothing without one. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}

/** The environment with which a process was started; undefined when it cannot be read. */
export function environmentOf(pid: number): Record<string, string> | undefined {
  const text = read(`/proc/${pid}/environ`, "utf8");
  if (text === undefined) return undefined;
  return Object.fromEntries(
    text
      .split("\0")
      .filter((entry) => entry.includes("="))
      .map((entry) => [entry.slice(0, entry.indexOf("=")), entry.slice(entry.indexOf("=") + 1)]),
  );
}

/** What processes have used, with the children that they waited for, and hold. */
export function useOf(pids: readonly number[]): { readonly cpuSeconds: number; readonly memoryBytes: number } {
  let ticks = 0;
  let kibibytes = 0;
  for (const pid of pids) {
    for (const field of fieldsOf(pid)?.slice(11, 15) ?? []) ticks += Number(field);
    kibibytes += Number(/^VmRSS:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/status`) ?? "")?.[1] ?? 0);
  }
  return { cpuSeconds: ticks / TICKS, memoryBytes: kibibytes * 1024 };
}

/** The fields of a process after its name, the first of which is its state. */
function fieldsOf(pid: number): string[] | undefined {
  const stat = read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
}

let boot: string | undefined;

function bootId(): string {
  boot ??= read("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
  return boot;
}

function read(path: string, encoding: "latin1" | "utf8" = "latin1"): string | undefined {
  try {
    return readFileSync(path, encoding);
  } catch {
    return undefined;
  }
}
