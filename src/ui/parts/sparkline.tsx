import { figureText } from "./figure-text.ts";

interface SparklineParts {
  /** What the numbers are, for screen readers. */
  readonly label: string;
  /** In their order; null = none at that time, which leaves a gap. */
  readonly values: readonly (number | null)[];
  readonly width?: number;
  readonly height?: number;
}

/** A small line of numbers over time, beside a figure. */
export function Sparkline({ label, values, width = 120, height = 24 }: SparklineParts) {
  const known = values.filter((value) => value !== null);
  const [low, high] = [Math.min(0, ...known), Math.max(...known)];
  const y = (value: number) => (high === low ? height - 2 : height - 2 - ((value - low) / (high - low)) * (height - 4));
  const x = (at: number) => (at / Math.max(values.length - 1, 1)) * (width - 2) + 1;
  const path = values
    .map((value, at) =>
      value === null ? "" : `${at === 0 || values[at - 1] === null ? "M" : "L"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`,
    )
    .join("");
  const text =
    known.length === 0
      ? `${label}: nothing`
      : `${label}: from ${figureText(Math.min(...known))} to ${figureText(high)}, last ${figureText(known.at(-1) ?? 0)}`;
  return (
    <svg class="sparkline" role="img" aria-label={text} viewBox={`0 0 ${width} ${height}`} width={width} height={height}>
      <path class="sparkline-base" d={`M1 ${height - 1}H${width - 1}`} fill="none" />
      {path !== "" && <path d={path} fill="none" stroke="currentColor" stroke-width="1.5" />}
    </svg>
  );
}
