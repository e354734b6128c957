/**
 * The recording of features' statistics on this node: sums by hour in memory, handed to the store
 * every ten minutes. Values are sampled, so that a feature costs the same however often it is asked
 * for.
 */

import { errorText } from "../../domain/error-text.ts";
import { ExponentialHistogram } from "../../domain/metrics/exponential-histogram.ts";
import { FrequentValues, NumberSketch, type ValueSketch } from "../../domain/metrics/value-sketch.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { RecordingParts } from "./recorder.ts";

/** Values of a feature that are sampled in ten seconds, at most. */
const SAMPLES = 20;
const SAMPLES_MS = 10_000;
const HAND_OVER_MS = 600_000;
const HOUR_MS = 3_600_000;
/** Most features that are recorded; further ones are not. */
const MAX_FEATURES = 20_000;

/** How the values of a feature are sketched; undefined = they are not. */
export type SketchKind = ValueSketch["kind"] | undefined;

/** A feature that is recorded. */
export class RecordedFeature {
  count = 0;
  nulls = 0;
  errors = 0;
  readonly ages = new ExponentialHistogram();
  sketch: ValueSketch | undefined;
  #left = SAMPLES;

  constructor(
    readonly environmentId: string,
    readonly feature: string,
    readonly kind: SketchKind,
  ) {}

  /** Whether a value may be sampled in this period. */
  get wantsSample(): boolean {
    return this.kind !== undefined && this.#left > 0;
  }

  /** Samples a value that is not null. */
  sample(value: FeatureValue): void {
    this.#left--;
    if (this.kind === "number") {
      this.sketch ??= new NumberSketch();
      if (this.sketch.kind === "number") this.sketch.record(Number(value));
    } else {
      this.sketch ??= new FrequentValues();
      if (this.sketch.kind === "values") this.sketch.record(String(value));
    }
  }

  /** Lets values be sampled anew. */
  beginPeriod(): void {
    this.#left = SAMPLES;
  }

  /** Forgets what was recorded. */
  clear(): void {
    this.count = 0;
    this.nulls = 0;
    this.errors = 0;
    this.ages.clear();
    this.sketch = undefined;
  }
}

/** The recording. */
export interface FeatureRecorder {
  /** The record of a feature; undefined when there is no room for another. */
  feature(environmentId: string, feature: string, kind: SketchKind): RecordedFeature | undefined;
  /** Forgets an environment. */
  forgetEnvironment(environmentId: string): void;
  /** Hands what was recorded to the store. Resolves when that has written or refused it. */
  flush(): Promise<void>;
  /** Ends the recording, after a flush. */
  close(): Promise<void>;
}

/** Begins the recording. */
export function createFeatureRecorder({ store, clock, log }: RecordingParts): FeatureRecorder {
  const features = new Map<string, RecordedFeature>();
  let hour = Math.floor(clock.now() / HOUR_MS) * HOUR_MS;
  const flush = async (): Promise<void> => {
    const at = hour;
    hour = Math.floor(clock.now() / HOUR_MS) * HOUR_MS;
    const stats = [...features.values()]
      .filter(({ count }) => count > 0)
      .map((one) => {
        const { environmentId, feature, count, nulls, errors, ages, sketch } = one;
        const row = { environmentId, feature, at, count, nulls, errors, ages: ages.encode(), ...(sketch && { sketch: sketch.toJSON() }) };
        one.clear();
        return row;
      });
    if (stats.length === 0) return;
    try {
      await (await store()).addFeatureStats(stats);
    } catch (error) {
      log.warning("statistics of features could not be written", { features: stats.length, error: errorText(error) });
    }
  };
  const sampling = setInterval(() => {
    for (const one of features.values()) one.beginPeriod();
    if (Math.floor(clock.now() / HOUR_MS) * HOUR_MS !== hour) void flush();
  }, SAMPLES_MS);
  const handing = setInterval(() => void flush(), HAND_OVER_MS);
  sampling.unref();
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
    forgetEnvironment(environmentId) {
      for (const [key, one] of features) if (one.environmentId === environmentId) features.delete(key);
    },
    flush,
    async close() {
      clearInterval(sampling);
      clearInterval(handing);
      await flush();
    },
  };
}
