/** Writes that count only when they are on the disk. */

import type { OnlineStore } from "../stores/online/store.ts";
import type { ValueSinks } from "./value-sinks.ts";

/** Where values are written. */
export interface ValueStores {
  readonly online: Pick<OnlineStore, "dropped" | "flush">;
  readonly sinks: Pick<ValueSinks, "dropped" | "flush">;
}

/**
 * Runs work that stores values, and resolves when both stores have flushed them. Rejects when they
 * had no room for some, of whatever work.
 */
export async function stored<T>({ online, sinks }: ValueStores, work: () => Promise<T>): Promise<T> {
  const dropped = (): number => online.dropped() + sinks.dropped();
  const before = dropped();
  const result = await work();
  await Promise.all([online.flush(), sinks.flush()]);
  if (dropped() > before) throw new Error("the stores had no room for values");
  return result;
}
