/**
 * The recording of features' statistics on this node: sums by hour in memory, handed to the store
 * every ten minutes and when the hour ends, and read together with what it has.
 */

import { errorText } from "../../domain/error-text.ts";
import { ExponentialHistogram } from "../../domain/metrics/exponential-histogram.ts";
import { FrequentValues, NumberSketch, type ValueSketch } from "../../domain/metrics/value-sketch.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { FeatureStats } from "../stores/metrics/feature-stats.ts";
import type { MetricRecording, RecordingParts } from "./recorder.ts";

const CHECK_MS = 10_000;
const HAND_OVER_MS = 600_000;
const HOUR_MS = 3_600_000;
/** Most features that are recorded; further ones are not. */
const MAX_FEATURES = 20_000;

/** How the values of a feature are sketched; undefined = they are not. */
export type SketchKind = ValueSketch["kind"] | undefined;

/** A feature that is recorded. */
export class RecordedFeature {
  #count = 0;
  #nulls = 0;
  #errors = 0;
  /** Ages in seconds. */
  readonly ages = new ExponentialHistogram();
  #sketch: ValueSketch | undefined;

  constructor(
    readonly environmentId: string,
    readonly feature: string,
    readonly kind: SketchKind,
  ) {}

  /** Counts values that were asked for; those that were null or failed are among them. */
  count(values: number, nulls: number, errors: number): void {
    this.#count += values;
    this.#nulls += nulls;
    this.#errors += errors;
  }

  /** Samples a value that is not null; none of a feature that is not sketched. */
  sample(value: FeatureValue): void {
    if (this.kind === "number") {
      this.#sketch ??= new NumberSketch();
      if (this.#sketch.kind === "number") this.#sketch.record(Number(value));
    } else if (this.kind === "values") {
      this.#sketch ??= new FrequentValues();
      if (this.#sketch.kind === "values") this.#sketch.record(String(value));
    }
  }

  /** What was recorded, as statistics of an hour; undefined = nothing. */
  statsAt(at: number): FeatureStats | undefined {
    if (this.#count === 0) return undefined;
    const { environmentId, feature } = this;
    const counts = { count: this.#count, nulls: this.#nulls, errors: this.#errors };
    return { environmentId, feature, at, ...counts, ages: this.ages.encode(), ...(this.#sketch && { sketch: this.#sketch.toJSON() }) };
  }

  /** Forgets what was recorded. */
  clear(): void {
    this.#count = 0;
    this.#nulls = 0;
    this.#errors = 0;
    this.ages.clear();
    this.#sketch = undefined;
  }
}

/** The recording. */
export interface FeatureRecorder {
  /** The record of a feature; undefined when there is no room for another. */
  feature(environmentId: string, feature: string, kind: SketchKind): RecordedFeature | undefined;
  /** Statistics of a feature that the store does not have yet. */
  unwritten(environmentId: string, feature: string): FeatureStats[];
  /** Forgets an environment. */
  forgetEnvironment(environmentId: string): void;
  /** Hands what was recorded to the store. Resolves when that has written or refused it. */
  flush(): Promise<void>;
  /** Ends the recording, after a flush. */
  close(): Promise<void>;
}

/** What the recording needs. */
export interface FeatureRecordingParts extends Pick<RecordingParts, "store" | "clock" | "log"> {
  readonly metrics: Pick<MetricRecording, "collect">;
}

/** Begins the recording. */
export function createFeatureRecorder({ store, clock, log, metrics }: FeatureRecordingParts): FeatureRecorder {
  const features = new Map<string, RecordedFeature>();
  const thisHour = (): number => Math.floor(clock.now() / HOUR_MS) * HOUR_MS;
  let hour = thisHour();
  /** Statistics that were taken, while the store is opened. */
  let waiting: FeatureStats[] = [];
  /** Takes what was recorded out of the features. */
  const take = (): void => {
    metrics.collect();
    for (const one of features.values()) {
      const stats = one.statsAt(hour);
      if (!stats) continue;
      waiting.push(stats);
      one.clear();
    }
    hour = thisHour();
  };
  const flush = async (): Promise<void> => {
    take();
    if (waiting.length === 0) return;
    let stats: FeatureStats[] = [];
    try {
      const opened = await store();
      stats = waiting;
      waiting = [];
      if (stats.length > 0) await opened.addFeatureStats(stats);
    } catch (error) {
      const lost = stats.length + waiting.length;
      waiting = [];
      log.warning("statistics of features could not be written", { features: lost, error: errorText(error) });
    }
  };
  const checking = setInterval(() => {
    if (thisHour() !== hour) void flush();
  }, CHECK_MS);
  const handing = setInterval(() => void flush(), HAND_OVER_MS);
  checking.unref();
  handing.unref();
  return {
    feature(environmentId, feature, kind) {
      const key = `${environmentId}\0${feature}\0${kind}`;
      let one = features.get(key);
      if (!one && features.size < MAX_FEATURES) {
        one = new RecordedFeature(environmentId, feature, kind);
        features.set(key, one);
      }
      return one;
    },
    unwritten(environmentId, feature) {
      metrics.collect();
      const isMeant = (one: RecordedFeature | FeatureStats): boolean => one.environmentId === environmentId && one.feature === feature;
      const recorded = [...features.values()].filter(isMeant).flatMap((one) => one.statsAt(hour) ?? []);
      return [...waiting.filter(isMeant), ...recorded];
    },
    forgetEnvironment(environmentId) {
      for (const [key, one] of features) if (one.environmentId === environmentId) features.delete(key);
      waiting = waiting.filter((one) => one.environmentId !== environmentId);
    },
    flush,
    async close() {
      clearInterval(checking);
      clearInterval(handing);
      await flush();
    },
  };
}
