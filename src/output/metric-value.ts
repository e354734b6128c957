/** Values of metrics as text. */

import { formatDuration } from "../domain/duration.ts";
import type { MetricUnit } from "../domain/metrics/metric.ts";
import { sizeText } from "../domain/size.ts";

/** A value with its unit, in about three digits. */
export function metricValueText(value: number, unit: MetricUnit): string {
  if (unit === "bytes") return sizeText(Math.round(value));
  if (unit !== "seconds") return shortNumber(value);
  const size = Math.abs(value);
  if (size === 0) return "0s";
  if (size < 1e-3) return `${shortNumber(value * 1e6)}us`;
  if (size < 1) return `${shortNumber(value * 1e3)}ms`;
  return size < 120 ? `${shortNumber(value)}s` : formatDuration(Math.round(value) * 1000);
}

function shortNumber(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${Number((value / 1e9).toPrecision(3))}G`;
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  return size >= 1e4 ? `${Number((value / 1e3).toPrecision(3))}k` : String(Number(value.toPrecision(size >= 1000 ? 4 : 3)));
}
