/**
 * The file of the store of metrics: WAL, synchronous=NORMAL. Each bucket of a minute is added to
 * those of ten minutes and of an hour too, so that a long range reads few rows, and removing old
 * minutes loses nothing of the others. What is complete of these two is packed, many in a row.
 */

import type { Database } from "bun:sqlite";
import { schemaVersion, usedBytes } from "../sqlite/file-figures.ts";
import { openDatabase } from "../sqlite/open.ts";
import { type AnswerColumns, toColumns } from "./answer-columns.ts";
import { BucketSum } from "./bucket-sum.ts";
import { ExemplarTable } from "./exemplar-table.ts";
import type { FeatureHour, FeatureStats } from "./feature-stats.ts";
import { FeatureStatsTable } from "./feature-stats-table.ts";
import { GatheredExemplars } from "./gathered-exemplars.ts";
import { type GatheredGroup, MetricGrouping, mostCounted } from "./grouping.ts";
import { type BucketRow, PackedTable } from "./packed-table.ts";
import { METRICS_APPLICATION_ID, METRICS_MIGRATIONS } from "./schema.ts";
import type {
  ExemplarGroup,
  ExemplarSelection,
  MetricAnswer,
  MetricBucket,
  MetricFigures,
  MetricLimits,
  MetricRow,
  MetricSelection,
  MetricSeries,
  MetricStore,
} from "./store.ts";

/** Options with which the file is opened. */
export interface MetricFile {
  /** Absolute path of `metrics.db`, or `:memory:`. */
  readonly path: string;
  readonly programVersion: string;
  /** Size of the file above which the oldest tenth is removed, in bytes. */
  readonly maxBytes: number;
  /** Age beyond which nothing is kept, in milliseconds. */
  readonly maxAgeMs: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * Periods of buckets with their tables, from the longest to the shortest, and the time of which
 * buckets are packed together; those of minutes are not, because most are never read.
 */
const PERIODS = [
  { table: "hour", lengthMs: HOUR_MS, keptMs: 366 * DAY_MS, packMs: DAY_MS },
  { table: "ten_minutes", lengthMs: 10 * MINUTE_MS, keptMs: 30 * DAY_MS, packMs: 6 * HOUR_MS },
  { table: "minute", lengthMs: MINUTE_MS, keptMs: 2 * DAY_MS, packMs: undefined },
] as const;
/** All tables with records of series. */
const SERIES_TABLES = [...PERIODS.map(({ table }) => table), "packed", "exemplar"];
/**
 * Time for which traces of values are kept: traces themselves are for no longer, unless that is
 * set.
 */
const EXEMPLARS_KEPT_MS = 7 * DAY_MS;
/** Time in which buckets may still be added, and most that are packed at once. */
const LATE_MS = HOUR_MS;
const MOST_PACKED = 100_000;
type Period = (typeof PERIODS)[number];

/** Most series that are known by their ids without asking the file. */
const KNOWN_SERIES = 50_000;

/** A part of a range that is read from one table. */
interface Part {
  readonly period: Period;
  readonly from: number;
  readonly before: number;
}

/** The open file. Every method throws what SQLite does. */
export class MetricDatabase {
  readonly #db: Database;
  #maxBytes: number;
  #maxAgeMs: number;
  readonly #features: FeatureStatsTable;
  readonly #packed: PackedTable;
  readonly #exemplars: ExemplarTable;
  /** Ids of series by their text. */
  readonly #ids = new Map<string, number>();

  /** Opens or creates the file. Throws StartError when it cannot be used. */
  constructor(private readonly file: MetricFile) {
    const { path, programVersion, maxBytes, maxAgeMs } = file;
    this.#maxBytes = maxBytes;
    this.#maxAgeMs = maxAgeMs;
    const schema = { applicationId: METRICS_APPLICATION_ID, migrations: METRICS_MIGRATIONS };
    this.#db = openDatabase({ path, programVersion, ...schema, synchronous: "normal" });
    this.#features = new FeatureStatsTable(this.#db);
    this.#packed = new PackedTable(this.#db);
    this.#exemplars = new ExemplarTable(this.#db);
  }

  addFeatureStats(stats: Parameters<MetricStore["addFeatureStats"]>[0]): void {
    this.#features.add(stats);
  }

  featureStats(...[of, more]: Parameters<MetricStore["featureStats"]>): FeatureHour[] {
    return this.#features.read(of, more);
  }

  featuresWithStats(of: Parameters<MetricStore["featuresWithStats"]>[0]): Pick<FeatureStats, "environmentId" | "feature">[] {
    return this.#features.features(of);
  }

  /** Adds buckets, all or none. */
  append(rows: readonly MetricRow[]): void {
    try {
      this.#db.transaction(() => {
        for (const row of rows) {
          const series = this.#idOf(row);
          for (const { table, lengthMs } of PERIODS) this.#addBucket(table, series, lengthMs, row.bucket);
          for (const exemplar of row.exemplars ?? []) this.#exemplars.add(series, floorTo(row.bucket.at, HOUR_MS), exemplar);
        }
      })();
    } catch (error) {
      this.#ids.clear();
      throw error;
    }
  }

  /** Buckets of a selection; `more` count as if they were stored. */
  read(selection: MetricSelection, more: readonly MetricRow[] = []): MetricAnswer {
    const grouping = new MetricGrouping(selection);
    const { environmentId, metric, from, before, maxGroups } = selection;
    for (const { labels, bucket } of more) if (bucket.at >= from && bucket.at < before) addTo(grouping.groupOf(labels), bucket);
    const series = this.#seriesOf(environmentId, metric).flatMap(({ id, labels }) => {
      const group = grouping.groupOf(labels);
      return group ? [{ id, group }] : [];
    });
    const parts = this.#partsOf(selection);
    const groups = [...new Set(series.map(({ group }) => group))];
    const read = groups.length <= maxGroups ? series : this.#withMostRecords(series, parts, maxGroups);
    const skipped = groups.length - new Set(read.map(({ group }) => group)).size;
    for (const { period, from, before } of parts) {
      const rows = this.#db.query<never, [number, number, number]>(
        `select at, count, sum, min, max, histogram from ${period.table} where series = ? and at >= ? and at < ?`,
      );
      for (const { id, group } of read) {
        if (period.packMs !== undefined)
          this.#packed.read(period, id, from, before, (at, count, sum, min, max, histogram, begin, end) =>
            group.add(at, count, sum, min, max, histogram, begin, end),
          );
        for (const [at, count, sum, min, max, histogram] of rows.values(id, from, before) as unknown as BucketRow[])
          group.add(at, count, sum, min, max, histogram);
      }
    }
    const { groups: answered, omitted } = grouping.answer();
    return { groups: answered, omitted: omitted + skipped };
  }

  /** The same as columns. */
  readColumns(selection: MetricSelection, more?: readonly MetricRow[]): AnswerColumns {
    return toColumns(this.read(selection, more));
  }

  /** Traced values of a selection. */
  exemplars({ environmentId, metric, filters, by, from, before }: ExemplarSelection): ExemplarGroup[] {
    const gathering = new GatheredExemplars({ filters, by });
    for (const { id, labels } of this.#seriesOf(environmentId, metric)) {
      if (gathering.matches(labels)) gathering.add(labels, this.#exemplars.read(id, floorTo(from, HOUR_MS), from, before));
    }
    return gathering.groups();
  }

  /** Values of a label, in their order. */
  labelValues({ environmentId, metric, label, limit }: Parameters<MetricStore["labelValues"]>[0]): string[] {
    const values = new Set(this.#seriesOf(environmentId, metric).map(({ labels }) => labels[label] ?? ""));
    return [...values].sort().slice(0, limit);
  }

  /**
   * Removes buckets by their age, and the oldest ones beyond the bound of size; packs those that
   * are complete.
   */
  thin(now: number): void {
    this.#db.transaction(() => {
      for (const period of PERIODS) this.#removeBefore(period, floorTo(now - Math.min(period.keptMs, this.#maxAgeMs), HOUR_MS));
      this.#exemplars.removeBefore(floorTo(now - Math.min(EXEMPLARS_KEPT_MS, this.#maxAgeMs), HOUR_MS));
      this.#features.removeBefore(now - Math.min(30 * DAY_MS, this.#maxAgeMs));
      this.#removeEmptySeries();
      for (const period of PERIODS)
        if (period.packMs !== undefined) this.#packed.pack(period, floorTo(now - LATE_MS, period.packMs), MOST_PACKED);
    })();
    for (let round = 0; round < 20 && usedBytes(this.#db) > this.#maxBytes; round++)
      this.#db.transaction(() => {
        for (const period of PERIODS) this.#removeTenth(period);
        this.#exemplars.removeTenth(HOUR_MS);
        this.#removeEmptySeries();
      })();
  }

  /** Removes the series of an environment. */
  forgetEnvironment(environmentId: string): void {
    this.#ids.clear();
    this.#db.transaction(() => {
      for (const table of SERIES_TABLES)
        this.#db.query(`delete from ${table} where series in (select id from series where environment_id = ?)`).run(environmentId);
      this.#db.query("delete from series where environment_id = ?").run(environmentId);
      this.#features.forgetEnvironment(environmentId);
    })();
  }

  figures(): MetricFigures {
    const count = (table: string): number => this.#db.query<{ n: number }, []>(`select count(*) as n from ${table}`).get()?.n ?? 0;
    return {
      schemaVersion: schemaVersion(this.#db),
      bytes: usedBytes(this.#db),
      maxBytes: this.#maxBytes,
      defaultMaxBytes: this.file.maxBytes,
      maxAgeMs: this.#maxAgeMs,
      defaultMaxAgeMs: this.file.maxAgeMs,
      series: count("series"),
      buckets: PERIODS.reduce((sum, { table }) => sum + count(table), this.#packed.size()),
    };
  }

  /** Sets the bounds beyond which the oldest buckets are removed; undefined = as it was opened. */
  limit({ maxBytes, maxAgeMs }: MetricLimits, now: number): void {
    this.#maxBytes = maxBytes ?? this.file.maxBytes;
    this.#maxAgeMs = maxAgeMs ?? this.file.maxAgeMs;
    this.thin(now);
  }

  /** Writes a bucket and removes it again. Throws when that fails. */
  probe(): void {
    const series = -1 - Math.floor(Math.random() * 2 ** 40);
    this.#addBucket("minute", series, MINUTE_MS, { at: 0, count: 1, sum: 1, min: 1, max: 1 });
    if (this.#db.query("delete from minute where series = ?").run(series).changes !== 1)
      throw new Error("a bucket that was written could not be read back");
  }

  close(): void {
    this.#db.close();
  }

  #addBucket(table: string, series: number, lengthMs: number, bucket: MetricBucket): void {
    const at = floorTo(bucket.at, lengthMs);
    const sum = new BucketSum();
    const found = this.#db
      .query<never, [number, number]>(`select at, count, sum, min, max, histogram from ${table} where series = ? and at = ?`)
      .values(series, at) as unknown as BucketRow[];
    for (const [, count, total, min, max, histogram] of found) sum.add(count, total, min, max, histogram);
    sum.add(bucket.count, bucket.sum, bucket.min, bucket.max, bucket.histogram);
    const merged = sum.bucketAt(at);
    this.#db
      .query(`insert or replace into ${table} (series, at, count, sum, min, max, histogram) values (?, ?, ?, ?, ?, ?, ?)`)
      .run(series, at, merged.count, merged.sum, merged.min, merged.max, merged.histogram ?? null);
  }

  #idOf({ environmentId, metric, labels }: MetricSeries): number {
    const text = labelText(labels);
    const key = `${environmentId}\0${metric}\0${text}`;
    let id = this.#ids.get(key);
    if (id === undefined) {
      id = this.#db
        .query<{ id: number }, [string, string, string]>(
          `insert into series (environment_id, metric, labels) values (?, ?, ?)
           on conflict (environment_id, metric, labels) do update set metric = excluded.metric returning id`,
        )
        .get(environmentId, metric, text)?.id as number;
      if (this.#ids.size >= KNOWN_SERIES) this.#ids.clear();
      this.#ids.set(key, id);
    }
    return id;
  }

  #seriesOf(environmentId: string, metric: string): { readonly id: number; readonly labels: MetricSeries["labels"] }[] {
    return this.#db
      .query<{ id: number; labels: string }, [string, string]>("select id, labels from series where environment_id = ? and metric = ?")
      .all(environmentId, metric)
      .map(({ id, labels }) => ({ id, labels: JSON.parse(labels) as MetricSeries["labels"] }));
  }

  /**
   * The tables that a range is read from: the one of the longest period that divides the step, and
   * before what is left of it those of longer periods. Boundaries are full hours.
   */
  #partsOf({ from, before, stepMs }: MetricSelection): Part[] {
    const parts: Part[] = [];
    const first = PERIODS.findIndex(({ lengthMs }) => stepMs % lengthMs === 0);
    let end = before;
    for (let at = first === -1 ? PERIODS.length - 1 : first; at >= 0 && end > from; at--) {
      const period = PERIODS[at] as Period;
      const begin = at === 0 ? from : Math.max(from, this.#thinnedBefore(period));
      if (begin < end) parts.push({ period, from: begin, before: end });
      end = Math.min(end, begin);
    }
    return parts;
  }

  /** The series of the groups with the most records. */
  #withMostRecords<S extends { readonly id: number; readonly group: GatheredGroup }>(
    series: readonly S[],
    parts: readonly Part[],
    maxGroups: number,
  ): S[] {
    const counts = new Map<GatheredGroup, number>();
    for (const { id, group } of series) {
      let count = counts.get(group) ?? group.count;
      for (const { period, from, before } of parts) {
        if (period.packMs !== undefined) count += this.#packed.count(period, id, from, before);
        count +=
          this.#db
            .query<{ n: number | null }, [number, number, number]>(
              `select sum(count) as n from ${period.table} where series = ? and at >= ? and at < ?`,
            )
            .get(id, from, before)?.n ?? 0;
      }
      counts.set(group, count);
    }
    const some = [...counts.keys()].filter((group) => (counts.get(group) ?? 0) > 0);
    const most = new Set(mostCounted(some, (group) => counts.get(group) ?? 0, maxGroups));
    return series.filter(({ group }) => most.has(group));
  }

  #thinnedBefore({ table }: Period): number {
    const row = this.#db.query<{ before: number }, [string]>("select before from thinned where period = ?").get(table);
    return row?.before ?? Number.MIN_SAFE_INTEGER;
  }

  #removeBefore(period: Period, before: number): void {
    const { table } = period;
    if (period.packMs !== undefined) this.#packed.removeBefore(period, before);
    this.#db.query(`delete from ${table} where at < ?`).run(before);
    this.#db
      .query("insert into thinned (period, before) values (?1, ?2) on conflict (period) do update set before = max(before, ?2)")
      .run(table, before);
  }

  #removeTenth(period: Period): void {
    const ends = this.#db
      .query<{ first: number | null; last: number | null }, []>(`select min(at) as first, max(at) as last from ${period.table}`)
      .get();
    const packed = period.packMs === undefined ? undefined : this.#packed.first(period);
    const first = Math.min(ends?.first ?? Number.POSITIVE_INFINITY, packed ?? Number.POSITIVE_INFINITY);
    if (first === Number.POSITIVE_INFINITY) return;
    const last = Math.max(ends?.last ?? first, first);
    this.#removeBefore(period, floorTo(first + (last - first) / 10, HOUR_MS) + HOUR_MS);
  }

  #removeEmptySeries(): void {
    this.#ids.clear();
    const lacks = SERIES_TABLES.map((table) => `not exists (select 1 from ${table} where series = id)`).join(" and ");
    this.#db.run(`delete from series where ${lacks}`);
  }
}

function addTo(group: GatheredGroup | undefined, { at, count, sum, min, max, histogram }: MetricBucket): void {
  group?.add(at, count, sum, min, max, histogram);
}

function floorTo(time: number, lengthMs: number): number {
  return Math.floor(time / lengthMs) * lengthMs;
}

/** Labels as text, the same whatever their order. */
function labelText(labels: MetricSeries["labels"]): string {
  return JSON.stringify(Object.fromEntries(Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1))));
}
