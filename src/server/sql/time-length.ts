/** Lengths of time as PostgreSQL and MySQL write them. */

const LENGTH = /^(?:(-?\d+) days? ?)?(?:([+-]?)(\d+):(\d{2}):(\d{2}(?:\.\d+)?))?$/;

/**
 * The seconds of `1 day -02:00:00.5` or `-101:02:03`. Undefined for others: months and years have
 * no length of their own.
 */
export function lengthSeconds(text: string): number | undefined {
  const match = text === "" ? null : LENGTH.exec(text);
  if (!match) return undefined;
  const [, days = "0", sign, hours = "0", minutes = "0", seconds = "0"] = match;
  const micros = (Number(hours) * 3_600 + Number(minutes) * 60) * 1_000_000 + Math.round(Number(seconds) * 1_000_000);
  return (Number(days) * 86_400_000_000 + (sign === "-" ? -micros : micros)) / 1_000_000;
}
