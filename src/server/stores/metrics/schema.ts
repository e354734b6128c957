/** The schema of `metrics.db`, step by step. */

import type { Migration } from "../sqlite/open.ts";

/** "svcm" as four bytes: marks a file as this program's metrics. */
export const METRICS_APPLICATION_ID = 0x7376636d;

const bucketTable = (name: string): string => `
create table ${name} (
  series integer not null, at integer not null, count integer not null, sum real not null, min real not null, max real not null, histogram blob,
  primary key (series, at)
) strict, without rowid;`;

/** Steps from an empty file to the newest schema. */
export const METRICS_MIGRATIONS: readonly Migration[] = [
  (db) => {
    db.run(`
create table series (
  id integer primary key, environment_id text not null, metric text not null, labels text not null, unique (environment_id, metric, labels)
) strict;
${bucketTable("minute")}
${bucketTable("ten_minutes")}
${bucketTable("hour")}
create table thinned (period text primary key, before integer not null) strict, without rowid;
`);
  },
  (db) => {
    db.run(`
create table feature_stats (
  environment_id text not null, feature text not null, at integer not null, count integer not null, nulls integer not null, errors integer not null,
  ages blob not null, sketch text, primary key (environment_id, feature, at)
) strict, without rowid;
`);
  },
  (db) => {
    db.run(`
create table packed (
  series integer not null, period text not null, begin integer not null, first integer not null, buckets integer not null, count integer not null,
  packed blob not null, unique (series, period, begin)
) strict;
create index packed_by_first on packed (period, first);
`);
  },
  (db) => {
    db.run(`
create table exemplar (
  series integer not null, hour integer not null, magnitude integer not null, value real not null, trace_id text not null, at integer not null,
  primary key (series, hour, magnitude)
) strict, without rowid;
`);
  },
];
