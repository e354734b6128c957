/**
 * The periods of ten seconds of the last hour, in memory. They are kept as columns: a bucket takes
 * 40 bytes, and a few more where it is a histogram's.
 */

import type { MetricGrouping } from "../stores/metrics/grouping.ts";
import type { MetricSelection } from "../stores/metrics/store.ts";
import type { RecordedSeries } from "./series.ts";

/** Length of a period, and time for which periods are kept, milliseconds. */
export const PERIOD_MS = 10_000;
export const RECENT_MS = 3_600_000;
/** Most bytes of all periods; the oldest ones are given up for younger ones. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Numbers of a bucket: count, sum, min and max. */
const FIGURES = 4;
const NUMBER_BYTES = 8;

/** A period that is over. */
interface Period {
  readonly at: number;
  readonly series: readonly RecordedSeries[];
  /** `FIGURES` for each series. */
  readonly figures: Float64Array;
  /** Histograms one after another, and where that of each series ends. */
  readonly histograms: Uint8Array;
  readonly ends: Uint32Array;
  readonly bytes: number;
}

/** The periods. */
export class RecentPeriods {
  #periods: Period[] = [];
  #bytes = 0;

  /** Keeps what series recorded in the period that begins at a time, epoch milliseconds. */
  keep(at: number, series: readonly RecordedSeries[]): void {
    const figures = new Float64Array(series.length * FIGURES);
    const ends = new Uint32Array(series.length);
    const histograms: Uint8Array[] = [];
    let end = 0;
    for (const [index, { current }] of series.entries()) {
      figures.set([current.count, current.sum, current.min, current.max], index * FIGURES);
      const histogram = current.histogram?.encode();
      if (histogram) histograms.push(histogram);
      end += histogram?.length ?? 0;
      ends[index] = end;
    }
    const bytes = figures.byteLength + ends.byteLength + end + series.length * NUMBER_BYTES;
    this.#periods.push({ at, series, figures, histograms: Buffer.concat(histograms), ends, bytes });
    this.#bytes += bytes;
    const first = this.#periods.findIndex((period) => period.at > at - RECENT_MS);
    for (let dropped = 0; dropped < first || this.#bytes > MAX_BYTES; dropped++) this.#bytes -= this.#periods.shift()?.bytes ?? this.#bytes;
  }

  /** Adds the buckets of a selection to its groups. */
  addTo(grouping: MetricGrouping, { environmentId, metric, from, before }: MetricSelection): void {
    for (const { at, series, figures, histograms, ends } of this.#periods) {
      if (at < from || at >= before) continue;
      for (const [index, one] of series.entries()) {
        if (one.metric !== metric || one.environmentId !== environmentId) continue;
        const [count = 0, sum = 0, min = 0, max = 0] = figures.subarray(index * FIGURES, (index + 1) * FIGURES);
        const begin = index === 0 ? 0 : (ends[index - 1] as number);
        const histogram = one.kind === "histogram" ? histograms.subarray(begin, ends[index]) : undefined;
        grouping.groupOf(one.labels)?.add(at, count, sum, min, max, histogram);
      }
    }
  }

  /** Forgets the buckets of an environment. */
  forgetEnvironment(environmentId: string): void {
    const isOf = ({ series }: Period): boolean => series.some((one) => one.environmentId === environmentId);
    this.#periods = this.#periods.filter((period) => !isOf(period));
    this.#bytes = this.#periods.reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
