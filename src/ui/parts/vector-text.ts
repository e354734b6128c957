/** Vectors for people: what one is like, in place of all its numbers. */

/** Elements that are shown, and those of the shortest list that is shown so. */
const SHOWN = 4;
const SHORTEST = 9;

/**
 * A long list of numbers in few words: `768 numbers, norm 1: 0.25, -0.5, 0.125, 0, ...`. Undefined
 * for all other values.
 */
export function vectorText(value: unknown): string | undefined {
  if (!Array.isArray(value) || value.length < SHORTEST || !value.every((item) => typeof item === "number")) return undefined;
  const first = value.slice(0, SHOWN).map(rounded);
  return `${value.length} numbers, norm ${rounded(Math.hypot(...value))}: ${first.join(", ")}, ...`;
}

function rounded(value: number): string {
  return String(Number(value.toPrecision(4)));
}
