/** The population stability index in words. */

const BOUNDS = [
  [0.1, "as before"],
  [0.25, "moved"],
] as const;

/** What an index says, by the bounds that are customary: `as before`, `moved`, `moved far`. */
export function driftWord(index: number): "as before" | "moved" | "moved far" {
  return BOUNDS.find(([bound]) => index < bound)?.[1] ?? "moved far";
}
