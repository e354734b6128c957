/** Times as pages write them. */

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

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
