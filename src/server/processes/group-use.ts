/**
 * What process groups use, from `/proc` of Linux; other systems are not measured while they run.
 */

import { readdirSync, readFileSync } from "node:fs";

/** What a process and its children use. */
export interface GroupUse {
  /** Processor time since they began. */
  readonly cpuMs: number;
  /** Memory that they hold, shared pages counted for each. */
  readonly memoryBytes: number;
}

/** Ticks of `/proc` in a second: 100 on every architecture that Linux runs on. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

/** A process to be measured. */
export interface Measured {
  readonly pid: number;
  /**
   * Whether its process group and the children that it waited for count too. Those of the server
   * are processes of their own.
   */
  readonly withChildren: boolean;
}

/** The use of processes by their ids. Those that do not run are absent. */
export function readGroupUse(measured: readonly Measured[]): ReadonlyMap<number, GroupUse> {
  const wanted = new Map(measured.map((one) => [one.pid, one]));
  const found = new Map<number, GroupUse>();
  if (process.platform !== "linux" || wanted.size === 0) return found;
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(name);
    if (!stat) continue;
    const one = wanted.get(Number(name)) ?? wanted.get(stat.group);
    if (!one || (one.pid !== Number(name) && !one.withChildren)) continue;
    const before = found.get(one.pid) ?? { cpuMs: 0, memoryBytes: 0 };
    const cpuMs = stat.ownMs + (one.withChildren ? stat.childrenMs : 0);
    found.set(one.pid, { cpuMs: before.cpuMs + cpuMs, memoryBytes: before.memoryBytes + stat.memoryBytes });
  }
  return found;
}

/** Fields of `/proc/<pid>/stat`, see proc(5). */
interface Stat {
  readonly group: number;
  readonly ownMs: number;
  /** Processor time of children that it waited for. */
  readonly childrenMs: number;
  readonly memoryBytes: number;
}

/** The fields of a process; undefined when it has just ended. */
function readStat(pid: string): Stat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  const fields = text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const at = (field: number): number => fields[field - 3] ?? 0;
  const ms = (ticks: number): number => (ticks * 1000) / TICKS_PER_SECOND;
  return { group: at(5), ownMs: ms(at(14) + at(15)), childrenMs: ms(at(16) + at(17)), memoryBytes: at(24) * PAGE_BYTES };
}
