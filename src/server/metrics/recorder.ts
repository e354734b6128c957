/**
 * The recording of metrics on this node. A record costs a few additions in memory. Every ten
 * seconds the records become buckets, which stay in memory for an hour; every minute those of the
 * minute are handed to the store. A node that is killed loses at most its last minute.
 */

import type { Clock } from "../../context/clock.ts";
import { errorText } from "../../domain/error-text.ts";
import {
  isOfApplications,
  type LabelsOf,
  MAX_SERIES,
  type MetricName,
  type MetricsOf,
  metricNamed,
  OTHER_LABEL,
  SERVER_SCOPE,
} from "../../domain/metrics/metric.ts";
import type { Log } from "../log.ts";
import { BucketSum } from "../stores/metrics/bucket-sum.ts";
import type { MetricGrouping } from "../stores/metrics/grouping.ts";
import type { Exemplar, MetricRow, MetricSelection, MetricStore } from "../stores/metrics/store.ts";
import { PERIOD_MS, RecentPeriods } from "./recent-periods.ts";
import { RecordedSeries } from "./series.ts";

/** A series that counts. */
export interface Counter {
  /** Adds an increment, by default 1. */
  add(increment?: number): void;
}

/** A series of samples. */
export interface Gauge {
  /** Samples what is now. */
  set(value: number): void;
}

/** A series of values of which percentiles are asked. */
export interface Histogram {
  /**
   * Adds a value.
   * @param traceId of the call that it is about, where that was traced
   */
  observe(value: number, traceId?: string): void;
  /** Adds values that were counted elsewhere, and the traces of some of them. */
  merge(values: BucketSum, exemplars: readonly Exemplar[]): void;
}

/**
 * What callers record with. Series are looked up by labels, so who records often keeps the series.
 */
export interface MetricRecorder {
  /** False where nothing is recorded; callers may save themselves the work. */
  readonly isOn: boolean;
  counter<Name extends MetricsOf<"counter">>(metric: Name, environmentId: string, labels: LabelsOf<Name>): Counter;
  gauge<Name extends MetricsOf<"gauge">>(metric: Name, environmentId: string, labels: LabelsOf<Name>): Gauge;
  histogram<Name extends MetricsOf<"histogram">>(metric: Name, environmentId: string, labels: LabelsOf<Name>): Histogram;
  /** Has a function record what it finds, at the end of each period of ten seconds. */
  sample(sampler: () => void | Promise<void>): void;
  /**
   * Has a function record, once, what its owner counted meanwhile: before this period ends, or
   * before anything is read.
   */
  collectLater(collect: () => void): void;
}

/** The recording with what reads it. */
export interface MetricRecording extends MetricRecorder {
  /** Has those record what they counted who asked for it with `collectLater`. */
  collect(): void;
  /** Rows of the store that were not handed to it yet. */
  unwritten(selection: Pick<MetricSelection, "environmentId" | "metric">): MetricRow[];
  /** Adds the buckets of ten seconds of a selection to its groups, the unfinished one too. */
  addRecent(grouping: MetricGrouping, selection: MetricSelection): void;
  /** The series of this node; of one environment and metric, or all. */
  series(of?: Pick<MetricSelection, "environmentId" | "metric">): RecordedSeries[];
  /** All that was recorded of a metric on this node since its start, whatever its labels. */
  sinceStart(metric: MetricName): BucketSum;
  /** Forgets the series of an environment, which may record anew. */
  forgetEnvironment(environmentId: string): void;
  /**
   * Hands everything that was recorded to the store. Resolves when that has written or refused it.
   */
  flush(): Promise<void>;
  /** Ends the recording, after a flush. */
  close(): Promise<void>;
  /** Ends the recording; what the store does not have is lost. */
  end(): void;
}

/** What the recording needs. */
export interface RecordingParts {
  readonly store: () => Promise<MetricStore>;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether nothing is recorded, to measure what recording costs; default: false. */
  readonly isOff?: boolean;
  /** Told which environments had records in a period of ten seconds, when it is over. */
  readonly onPeriod?: (environmentIds: ReadonlySet<string>) => void;
}

const MINUTE_MS = 60_000;
/**
 * Time without records after which a series of an environment is forgotten, and gives its place to
 * others.
 */
const IDLE_MS = 3_600_000;
/** Most series of all metrics and environments; those of applications find room in half of it. */
const MAX_ALL_SERIES = 20_000;
/** Longest value of a label, in characters. */
export const MAX_LABEL = 200;

/** Begins the recording. */
export function createMetricRecorder(parts: RecordingParts): MetricRecording {
  return new NodeRecording(parts);
}

/** A series as its recorder holds it: it is looked up at the first record of each period. */
class Handle implements Counter, Gauge, Histogram {
  #series: RecordedSeries | undefined;

  constructor(
    readonly recording: NodeRecording,
    readonly metric: MetricName,
    readonly environmentId: string,
    readonly labels: Readonly<Record<string, string>>,
  ) {}

  add(increment = 1): void {
    this.#active().current.record(increment);
  }

  set(value: number): void {
    const series = this.#active();
    series.current.record(value);
    series.last = value;
  }

  observe(value: number, traceId = ""): void {
    const series = this.#active();
    series.current.record(value);
    if (traceId !== "") series.exemplify({ value, traceId, at: this.recording.now() });
  }

  merge(values: BucketSum, exemplars: readonly Exemplar[]): void {
    const series = this.#active();
    series.current.merge(values);
    for (const exemplar of exemplars) series.exemplify(exemplar);
  }

  #active(): RecordedSeries {
    const series = this.#series;
    if (series?.isActive) return series;
    this.#series = this.recording.begin(this.metric, this.environmentId, this.labels);
    return this.#series;
  }
}

/** What records nothing. */
const SILENT: Counter & Gauge & Histogram = { add() {}, set() {}, observe() {}, merge() {} };

class NodeRecording implements MetricRecording {
  readonly #series = new Map<string, RecordedSeries>();
  /** Number of series by environment and metric. */
  readonly #counts = new Map<string, number>();
  readonly #recent = new RecentPeriods();
  /** The sums of series that are forgotten, by metric. */
  readonly #forgotten = new Map<string, BucketSum>();
  readonly #samplers: (() => void | Promise<void>)[] = [];
  /** Those who are to be asked for what they counted. */
  #counting: (() => void)[] = [];
  readonly #overflow: Counter;
  readonly #lost: Counter;
  /** Series with records in this period, and in the minute's periods before it. */
  #active: RecordedSeries[] = [];
  #inMinute = new Set<RecordedSeries>();
  /** Rows that wait for the store to open. */
  #waiting: MetricRow[] = [];
  #writing = Promise.resolve();
  #isFailing = false;
  /** Beginning of this period, epoch milliseconds. */
  #period: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  readonly isOn: boolean;

  constructor(private readonly parts: RecordingParts) {
    this.isOn = parts.isOff !== true;
    this.#period = floorTo(this.now(), PERIOD_MS);
    this.#overflow = this.counter("telemetry.dropped", SERVER_SCOPE, { signal: "metric_series" });
    this.#lost = this.counter("telemetry.dropped", SERVER_SCOPE, { signal: "metrics" });
    if (this.isOn) this.#wait();
  }

  now(): number {
    return this.parts.clock.now();
  }

  counter(metric: MetricsOf<"counter">, environmentId: string, labels: Readonly<Record<string, string>>): Counter {
    return this.isOn ? new Handle(this, metric, environmentId, labels) : SILENT;
  }

  gauge(metric: MetricsOf<"gauge">, environmentId: string, labels: Readonly<Record<string, string>>): Gauge {
    return this.isOn ? new Handle(this, metric, environmentId, labels) : SILENT;
  }

  histogram(metric: MetricsOf<"histogram">, environmentId: string, labels: Readonly<Record<string, string>>): Histogram {
    return this.isOn ? new Handle(this, metric, environmentId, labels) : SILENT;
  }

  sample(sampler: () => void | Promise<void>): void {
    this.#samplers.push(sampler);
  }

  collectLater(collect: () => void): void {
    this.#counting.push(collect);
  }

  collect(): void {
    const counting = this.#counting;
    this.#counting = [];
    for (const collect of counting) collect();
  }

  /** The series of labels, which records in this period. */
  begin(metric: MetricName, environmentId: string, labels: Readonly<Record<string, string>>): RecordedSeries {
    const series = this.#find(metric, environmentId, labels);
    if (!series.isActive) {
      series.isActive = true;
      series.activeAt = this.#period;
      this.#active.push(series);
    }
    return series;
  }

  unwritten({ environmentId, metric }: Pick<MetricSelection, "environmentId" | "metric">): MetricRow[] {
    this.collect();
    const at = floorTo(this.#period, MINUTE_MS);
    const isMeant = (one: MetricRow | RecordedSeries): boolean => one.environmentId === environmentId && one.metric === metric;
    const unfinished = [...new Set([...this.#inMinute, ...this.#active])].filter(isMeant).flatMap((series) => series.rowAt(at) ?? []);
    return [...this.#waiting.filter(isMeant), ...unfinished];
  }

  addRecent(grouping: MetricGrouping, selection: MetricSelection): void {
    this.collect();
    this.#recent.addTo(grouping, selection);
    const { environmentId, metric, from, before } = selection;
    if (this.#period < from || this.#period >= before) return;
    for (const series of this.#active) {
      if (series.metric !== metric || series.environmentId !== environmentId) continue;
      const { count, sum, min, max, histogram } = series.current;
      if (count > 0) grouping.groupOf(series.labels)?.add(this.#period, count, sum, min, max, histogram?.encode());
    }
  }

  series(of?: Pick<MetricSelection, "environmentId" | "metric">): RecordedSeries[] {
    this.collect();
    const all = [...this.#series.values()];
    return of ? all.filter(({ environmentId, metric }) => environmentId === of.environmentId && metric === of.metric) : all;
  }

  sinceStart(metric: MetricName): BucketSum {
    this.collect();
    const sum = new BucketSum();
    const forgotten = this.#forgotten.get(metric);
    if (forgotten) sum.merge(forgotten);
    for (const series of this.#series.values()) if (series.metric === metric) sum.merge(series.sinceStart());
    return sum;
  }

  forgetEnvironment(environmentId: string): void {
    this.collect();
    const isKept = (one: { readonly environmentId: string }): boolean => one.environmentId !== environmentId;
    for (const [key, series] of this.#series) if (!isKept(series)) this.#remove(key, series);
    this.#recent.forgetEnvironment(environmentId);
    this.#waiting = this.#waiting.filter(isKept);
  }

  async flush(): Promise<void> {
    await this.#runSamplers();
    await this.#hand();
  }

  async close(): Promise<void> {
    this.end();
    await this.#hand();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #hand(): Promise<void> {
    this.#endPeriod();
    this.#endMinute();
    this.#period = floorTo(this.now(), PERIOD_MS);
    return this.#writing;
  }

  #wait(): void {
    const now = this.now();
    this.#timer = setTimeout(() => this.#tick(), floorTo(now, PERIOD_MS) + PERIOD_MS - now);
    this.#timer.unref();
  }

  #tick(): void {
    this.#wait();
    void this.#runSamplers();
    this.#endPeriod();
    const period = floorTo(this.now(), PERIOD_MS);
    if (floorTo(period, MINUTE_MS) !== floorTo(this.#period, MINUTE_MS)) this.#endMinute();
    this.#period = period;
  }

  /** What samplers wait for is recorded in the next period. */
  async #runSamplers(): Promise<void> {
    const run = async (sampler: () => void | Promise<void>): Promise<void> => {
      try {
        await sampler();
      } catch (error) {
        this.parts.log.debug("a metric could not be sampled", { error: errorText(error) });
      }
    };
    await Promise.all(this.#samplers.map(run));
  }

  #endPeriod(): void {
    this.collect();
    const active = this.#active.filter(({ current }) => current.count > 0);
    this.#recent.keep(this.#period, active);
    for (const series of this.#active) {
      series.endPeriod();
      this.#inMinute.add(series);
    }
    this.#active = [];
    if (this.parts.onPeriod && active.length > 0) this.parts.onPeriod(new Set(active.map(({ environmentId }) => environmentId)));
  }

  #endMinute(): void {
    const at = floorTo(this.#period, MINUTE_MS);
    for (const series of this.#inMinute) {
      const row = series.rowAt(at);
      if (row) this.#waiting.push(row);
      series.endMinute();
    }
    this.#inMinute = new Set();
    for (const [key, series] of this.#series) {
      const isIdle = series.activeAt < this.#period - IDLE_MS;
      if (isIdle && series.environmentId !== SERVER_SCOPE) this.#remove(key, series);
    }
    if (this.#waiting.length > 0) this.#writing = this.#write();
  }

  async #write(): Promise<void> {
    let rows: MetricRow[] = [];
    try {
      const store = await this.parts.store();
      rows = this.#waiting;
      this.#waiting = [];
      if (rows.length > 0) await store.append(rows);
      this.#isFailing = false;
    } catch (error) {
      if (rows.length === 0) {
        rows = this.#waiting;
        this.#waiting = [];
      }
      this.#lost.add(rows.length);
      if (!this.#isFailing) this.parts.log.warning("metrics could not be written", { rows: rows.length, error: errorText(error) });
      this.#isFailing = true;
    }
  }

  /** The series of labels; that of `OTHER_LABEL` when there is no room for another. */
  #find(metric: MetricName, environmentId: string, labels: Readonly<Record<string, string>>): RecordedSeries {
    const { kind, labels: names } = metricNamed(metric);
    const values = names.map((name) => (labels[name] ?? "").slice(0, MAX_LABEL));
    const place = `${environmentId}\0${metric}`;
    const key = `${place}\0${values.join("\0")}`;
    const known = this.#series.get(key);
    if (known) return known;
    const count = this.#counts.get(place) ?? 0;
    const isOther = values.every((value) => value === OTHER_LABEL);
    const most = isOfApplications(metric) ? MAX_ALL_SERIES / 2 : MAX_ALL_SERIES;
    if (!isOther && (count >= MAX_SERIES - 1 || this.#series.size >= most)) {
      this.#overflow.add();
      return this.#find(metric, environmentId, Object.fromEntries(names.map((name) => [name, OTHER_LABEL])));
    }
    const series = new RecordedSeries(
      kind,
      environmentId,
      metric,
      Object.fromEntries(names.map((name, at) => [name, values[at] as string])),
    );
    this.#series.set(key, series);
    this.#counts.set(place, count + 1);
    return series;
  }

  #remove(key: string, series: RecordedSeries): void {
    this.#series.delete(key);
    const forgotten = this.#forgotten.get(series.metric) ?? new BucketSum();
    forgotten.merge(series.sinceStart());
    this.#forgotten.set(series.metric, forgotten);
    const place = `${series.environmentId}\0${series.metric}`;
    const left = (this.#counts.get(place) ?? 1) - 1;
    if (left > 0) this.#counts.set(place, left);
    else this.#counts.delete(place);
    this.#inMinute.delete(series);
    series.isActive = false;
    this.#active = this.#active.filter((one) => one !== series);
  }
}

function floorTo(time: number, lengthMs: number): number {
  return Math.floor(time / lengthMs) * lengthMs;
}
