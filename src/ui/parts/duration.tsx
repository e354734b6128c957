import { formatDuration } from "../../domain/duration.ts";

const SIGNIFICANT = 3;

/**
 * Milliseconds with three digits that count, as the command line writes durations: `1.25ms`,
 * `3m2s`.
 */
export function durationText(ms: number): string {
  if (ms <= 0 || !Number.isFinite(ms)) return formatDuration(ms);
  return formatDuration(ms < 1_000 ? Number(ms.toPrecision(SIGNIFICANT)) : Math.round(ms / 10) * 10);
}

/** A length of time. */
export function Duration({ ms }: { readonly ms: number }) {
  return <span class="figure">{durationText(ms)}</span>;
}
