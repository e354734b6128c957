import { formatDuration } from "../../domain/duration.ts";

const SIGNIFICANT = 3;

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** Milliseconds with three digits that count: `1.25ms`, `7.34s`; from a minute on `3m2s`. */
export function durationText(ms: number): string {
  if (ms <= 0 || !Number.isFinite(ms)) return formatDuration(ms);
  const rounded = Number(ms.toPrecision(SIGNIFICANT));
  if (rounded < SECOND_MS) return formatDuration(rounded);
  return rounded < MINUTE_MS ? `${rounded / SECOND_MS}s` : formatDuration(Math.round(ms / SECOND_MS) * SECOND_MS);
}

/** A length of time. */
export function Duration({ ms }: { readonly ms: number }) {
  return <span class="figure">{durationText(ms)}</span>;
}
