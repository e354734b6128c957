import { now } from "../app/clock.ts";
import { shortText, utcText } from "./time-text.ts";

/**
 * A time: how long ago it was below an hour, else the local time; in UTC on hover and for copies.
 */
export function Time({ at }: { readonly at: string | undefined }) {
  const ms = at === undefined ? Number.NaN : Date.parse(at);
  if (Number.isNaN(ms)) return <span class="dim">never</span>;
  return (
    <time dateTime={at} title={utcText(ms)}>
      {shortText(ms, Math.max(now.value, Date.now()))}
    </time>
  );
}
