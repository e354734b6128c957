/** Days of the calendar in UTC, as `YYYY-MM-DD`. */

/** Milliseconds of a day. */
export const DAY_MS = 86_400_000;

/** The day of a time in epoch milliseconds. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/**
 * The days of a period, with the milliseconds of each that are in it; none when it has no length.
 */
export function daysBetween(from: number, until: number): { readonly day: string; readonly ms: number }[] {
  const days: { day: string; ms: number }[] = [];
  for (let at = from; at < until; ) {
    const next = Math.min(until, (Math.floor(at / DAY_MS) + 1) * DAY_MS);
    days.push({ day: dayOf(at), ms: next - at });
    at = next;
  }
  return days;
}
