/** What a database process may use of the machine. */

import { availableParallelism, totalmem } from "node:os";
import { freeBytes } from "../../../disk/folder-facts.ts";
import type { ChildLimits } from "../../thread/child-process.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** Memory and threads of a database. */
export interface DatabaseLimits {
  /** Bytes that its buffers may hold; what is more goes to its folder for temporary files. */
  readonly memoryBytes: number;
  readonly threads: number;
}

/** Limits by the machine: a quarter of its memory, 256 MiB to 2 GiB, and half of its cores. */
export function machineLimits(): DatabaseLimits {
  return {
    memoryBytes: Math.max(256 * MIB, Math.min(2 * GIB, Math.floor(totalmem() / 4))),
    threads: Math.max(2, Math.floor(availableParallelism() / 2)),
  };
}

/** The limits of the process: the database exceeds its own by some hundred MiB. */
export function processLimits({ memoryBytes }: DatabaseLimits): ChildLimits {
  return { residentBytes: memoryBytes + GIB, dataBytes: memoryBytes * 2 + 4 * GIB };
}

/** Settings of a database that spills to a folder: at most 20 GiB, and half of what is free. */
export function databaseConfig({ memoryBytes, threads }: DatabaseLimits, temporary: string): Record<string, string> {
  const free = freeBytes(temporary) ?? 0;
  return {
    memory_limit: `${Math.floor(memoryBytes / MIB)}MiB`,
    threads: String(threads),
    temp_directory: temporary,
    max_temp_directory_size: `${Math.floor(Math.min(20 * GIB, free / 2) / MIB)}MiB`,
  };
}
