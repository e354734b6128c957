import { useRef } from "preact/hooks";
import type { Loaded } from "./load.ts";

/**
 * An answer that stays while the one of another call is on its way, as for a range that moves on:
 * what is shown changes at once instead of being gone in between.
 */
export function useSteady<T>(loaded: Loaded<T>): Loaded<T> {
  const last = useRef<T | undefined>(undefined);
  if (loaded.data !== undefined) last.current = loaded.data;
  return loaded.data === undefined && loaded.error === undefined ? { ...loaded, data: last.current } : loaded;
}
