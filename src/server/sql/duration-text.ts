/** Durations in the text forms of PostgreSQL and MySQL. */

const DURATION = /^(?:(-?\d+) days? ?)?(?:([+-]?)(\d+):(\d{2}):(\d{2}(?:\.\d+)?))?$/;

/**
 * The seconds of a duration such as `1 day -02:00:00.5` or `-101:02:03`. Undefined for other text:
 * months and years have no fixed length.
 */
export function durationSeconds(text: string): number | undefined {
  const match = text === "" ? null : DURATION.exec(text);
  if (!match) return undefined;
  const [, days = "0", sign, hours = "0", minutes = "0", seconds = "0"] = match;
  const micros = (Number(hours) * 3_600 + Number(minutes) * 60) * 1_000_000 + Math.round(Number(seconds) * 1_000_000);
  return (Number(days) * 86_400_000_000 + (sign === "-" ? -micros : micros)) / 1_000_000;
}
