/** The time that processes have had of all processors, which other programs hardly change. */

import { readdirSync, readFileSync } from "node:fs";

/** Of `/proc/<pid>/stat`: the parent, and ticks of user, system, and those of children that ended. */
function statOf(pid: number | string): { readonly parent: number; readonly own: number; readonly ended: number } | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ").map(Number) ?? [];
    const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [1, 11, 12, 13, 14].map((at) => fields[at]);
    return { parent, own: user + system, ended: endedUser + endedSystem };
  } catch {
    return undefined;
  }
}

/** Milliseconds of a tick. */
const TICK_MS = 10;

/** Milliseconds that a process has had; 0 where the system does not tell. */
export function processorMs(pid: number): number {
  return (statOf(pid)?.own ?? 0) * TICK_MS;
}

/** Milliseconds that a process and its descendants have had; 0 where the system does not tell. */
export function processorMsOfAll(pid: number): number {
  const all = new Map<number, NonNullable<ReturnType<typeof statOf>>>();
  for (const name of listed())
    if (/^\d+$/.test(name)) {
      const stat = statOf(name);
      if (stat) all.set(Number(name), stat);
    }
  const isWithin = (one: number): boolean => one === pid || isWithinParent(all.get(one)?.parent);
  const isWithinParent = (parent: number | undefined): boolean => parent !== undefined && parent > 1 && isWithin(parent);
  let ticks = 0;
  for (const [one, { own, ended }] of all) if (isWithin(one)) ticks += own + ended;
  return ticks * TICK_MS;
}

function listed(): string[] {
  try {
    return readdirSync("/proc");
  } catch {
    return [];
  }
}
