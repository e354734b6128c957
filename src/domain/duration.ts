/**
 * Lengths of time as the user writes them: `90s`, `1h30m`, `29d 11h`, `infinity`. In code a
 * duration is a number of milliseconds; `Infinity` stands for "never expires".
 */

const UNIT_MS: Readonly<Record<string, number>> = {
  w: 604_800_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 0.001,
};
const PART = /(\d+(?:\.\d+)?)\s*(ms|us|w|d|h|m|s)/gy;

/** The grammar, for messages about a duration that was not understood. */
export const DURATION_GRAMMAR = "a duration such as 90s, 5m, 1h30m, 7d or 2w";

/**
 * The milliseconds of a duration: numbers with the units w d h m s ms us, joined or separated by
 * blanks, or `infinity`. A bare number is no duration, except `0`. Undefined when the text is not a
 * duration.
 */
export function parseDuration(text: string): number | undefined {
  const source = text.trim().toLowerCase();
  if (source === "infinity" || source === "inf") return Number.POSITIVE_INFINITY;
  if (source === "0") return 0;
  let total = 0;
  let at = 0;
  let parts = 0;
  while (at < source.length) {
    PART.lastIndex = at;
    const match = PART.exec(source);
    if (!match) return undefined;
    total += Number(match[1]) * (UNIT_MS[match[2] as string] as number);
    parts++;
    at = PART.lastIndex;
    while (source[at] === " ") at++;
  }
  return parts > 0 && Number.isFinite(total) ? Math.round(total * 1000) / 1000 : undefined;
}

/**
 * The text of milliseconds, greedily in d, h, m, s, ms: `7d`, `1h30m`, `1.5ms`; `0s` for zero and
 * `infinity` for Infinity. What is below a microsecond is rounded. `parseDuration` reads it back to
 * the same number for whole microseconds; it reads no negative ones, which get a `-`.
 */
export function formatDuration(ms: number): string {
  if (ms === Number.POSITIVE_INFINITY) return "infinity";
  if (ms < 0) return `-${formatDuration(-ms)}`;
  let text = "";
  let rest = ms;
  for (const [unit, size] of LARGE_UNITS) {
    const count = Math.floor(rest / size);
    if (count > 0) text += `${count}${unit}`;
    rest -= count * size;
  }
  const left = Math.round(rest * 1000) / 1000;
  if (left >= 1000) return formatDuration(Math.round(ms));
  return left > 0 ? `${text}${left}ms` : text || "0s";
}

const LARGE_UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;
