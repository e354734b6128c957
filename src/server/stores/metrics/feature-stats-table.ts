/** The table of features' statistics. */

import type { Database } from "bun:sqlite";
import { ExponentialHistogram } from "../../../domain/metrics/exponential-histogram.ts";
import { readSketch, type SketchJson, type ValueSketch } from "../../../domain/metrics/value-sketch.ts";
import type { FeatureHour, FeatureStats, FeatureStatsStore } from "./feature-stats.ts";

interface StatsRow {
  readonly at: number;
  readonly count: number;
  readonly nulls: number;
  readonly errors: number;
  readonly ages: Uint8Array;
  readonly sketch: string | null;
}

type Argument<Name extends keyof FeatureStatsStore> = Parameters<FeatureStatsStore[Name]>[0];

/** The statistics in a database. Every method throws what SQLite does. */
export class FeatureStatsTable {
  constructor(private readonly db: Database) {}

  add(stats: Argument<"addFeatureStats">): void {
    this.db.transaction(() => {
      for (const one of stats) this.#addOne(one);
    })();
  }

  read({ environmentId, feature, from, before }: Argument<"featureStats">, more: readonly FeatureHour[] = []): FeatureHour[] {
    const stored = this.db
      .query<StatsRow, [string, string, number, number]>(
        `select at, count, nulls, errors, ages, sketch from feature_stats
         where environment_id = ? and feature = ? and at >= ? and at < ? order by at`,
      )
      .all(environmentId, feature, from, before)
      .map(({ sketch, ...row }) => ({ ...row, ...(sketch !== null && { sketch: JSON.parse(sketch) as SketchJson }) }));
    const hours = new Map(stored.map((hour) => [hour.at, hour]));
    for (const { at, count, nulls, errors, ages, sketch } of more) {
      if (at < from || at >= before) continue;
      const hour: FeatureHour = { at, count, nulls, errors, ages, ...(sketch && { sketch }) };
      const known = hours.get(at);
      hours.set(at, known ? mergedHour(known, hour) : hour);
    }
    return [...hours.values()].sort((one, other) => one.at - other.at);
  }

  features({ from, before, limit }: Argument<"featuresWithStats">): Pick<FeatureStats, "environmentId" | "feature">[] {
    return this.db
      .query<{ environmentId: string; feature: string }, [number, number, number]>(
        `select distinct environment_id as environmentId, feature from feature_stats where at >= ? and at < ?
         order by environment_id, feature limit ?`,
      )
      .all(from, before, limit);
  }

  removeBefore(at: number): void {
    this.db.query("delete from feature_stats where at < ?").run(at);
  }

  forgetEnvironment(environmentId: string): void {
    this.db.query("delete from feature_stats where environment_id = ?").run(environmentId);
  }

  #addOne({ environmentId, feature, ...given }: FeatureStats): void {
    const [known] = this.read({ environmentId, feature, from: given.at, before: given.at + 1 });
    const merged = known ? mergedHour(known, given) : given;
    this.db
      .query(
        `insert or replace into feature_stats (environment_id, feature, at, count, nulls, errors, ages, sketch) values (?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        ...([environmentId, feature, merged.at, merged.count, merged.nulls, merged.errors, merged.ages] as const),
        merged.sketch === undefined ? null : JSON.stringify(merged.sketch),
      );
  }
}

function mergedHour(one: FeatureHour, other: FeatureHour): FeatureHour {
  const ages = ExponentialHistogram.decode(one.ages);
  ages.mergeEncoded(other.ages);
  const sketch = mergedSketches([one, other]);
  return {
    at: one.at,
    count: one.count + other.count,
    nulls: one.nulls + other.nulls,
    errors: one.errors + other.errors,
    ages: ages.encode(),
    ...(sketch && { sketch: sketch.toJSON() }),
  };
}

/**
 * The values of hours together: of those of one kind, the last one's, because a feature can change
 * its type. Undefined when there are none.
 */
export function mergedSketches(hours: readonly FeatureHour[]): ValueSketch | undefined {
  const sketches = hours.flatMap(({ sketch }) => (sketch ? [readSketch(sketch)] : []));
  const [last] = sketches.slice(-1);
  for (const sketch of sketches.slice(0, -1)) {
    if (last?.kind === "number" && sketch.kind === "number") last.merge(sketch);
    if (last?.kind === "values" && sketch.kind === "values") last.merge(sketch);
  }
  return last;
}
