/** Times as pages write them. */

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const MINUTE_S = 60;
const DAY_S = 86_400;

/** A time in UTC to the second, `2024-05-01 12:00:00 UTC`. */
export function utcText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** A time in the reader's own zone to the second, `2024-05-01 14:00:00`. */
export function localText(ms: number, zone?: string): string {
  const parts = new Intl.DateTimeFormat("en-GB", {
    ...{ year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" },
    timeZone: zone,
  }).formatToParts(ms);
  const part = (type: string) => parts.find((one) => one.type === type)?.value ?? "";
  return `${part("year")}-${part("month")}-${part("day")} ${part("hour")}:${part("minute")}:${part("second")}`;
}

/** Below an hour how long ago it was, `3m ago`; else the local time. */
export function shortText(ms: number, now: number, zone?: string): string {
  const ago = now - ms;
  if (ago < 0 || ago >= HOUR_MS) return localText(ms, zone);
  return ago < MINUTE_MS ? `${Math.floor(ago / 1000)}s ago` : `${Math.floor(ago / MINUTE_MS)}m ago`;
}

/** Marks of a scale of times, in seconds: days, or times of the day as fine as their distance. */
export function timeMarks(seconds: readonly number[], zone?: string): string[] {
  const step = seconds.length < 2 ? MINUTE_S : (seconds[1] ?? 0) - (seconds[0] ?? 0);
  return seconds.map((second) => {
    const text = localText(second * 1000, zone);
    if (step < 1) return `${text.slice(14)}.${String(Math.round(second * 1000) % 1000).padStart(3, "0")}`;
    if (step < MINUTE_S) return text.slice(11);
    return step >= DAY_S || text.endsWith("00:00:00") ? text.slice(5, 10) : text.slice(11, 16);
  });
}
