/** The cap on the memory of a Python worker, from the server's environment. */

import { StartError } from "../failure.ts";

/** Environment variable of the server with the cap. */
export const MEMORY_LIMIT_VARIABLE = "SVC_WORKER_MEMORY";

const UNITS: Readonly<Record<string, number>> = { MiB: 1024 ** 2, GiB: 1024 ** 3 };
/** Address space that an interpreter with its threads needs to start, approximately. */
const LEAST_BYTES = 256 * 1024 ** 2;

/**
 * Bytes of address space that each worker may have; undefined when the variable is not set or
 * empty: no cap.
 * @throws StartError when the value is not a size, or too small for an interpreter to start
 */
export function workerMemoryLimit(env: Readonly<Record<string, string | undefined>>): number | undefined {
  const text = env[MEMORY_LIMIT_VARIABLE]?.trim() ?? "";
  if (text === "") return undefined;
  const [, count, unit = ""] = /^(\d{1,9})\s*(MiB|GiB)$/.exec(text) ?? [];
  const bytes = Number(count) * (UNITS[unit] ?? Number.NaN);
  if (bytes >= LEAST_BYTES) return bytes;
  throw new StartError(
    "setting_invalid",
    `${MEMORY_LIMIT_VARIABLE}=${text}: expected a size of at least 256 MiB, such as 512MiB or 4GiB.`,
    `Set it to one, or unset it: workers have no cap then.`,
  );
}
