/** The schema of `topics.db`, step by step. */

import type { Migration } from "../sqlite/open.ts";

/** "svcq" as four bytes: marks a file as this program's topics. */
export const TOPICS_APPLICATION_ID = 0x73766371;

/**
 * Messages are kept as they were pushed: a row has those of one push and partition, encoded. Their
 * offsets are `base` and those after it, `count` in all. Times never go back within a partition.
 */
export const TOPICS_MIGRATIONS: readonly Migration[] = [
  (db) => {
    db.run(`
create table topic (id integer primary key autoincrement, environment_id text not null, name text not null, unique (environment_id, name)) strict;
create table partition (
  topic integer not null references topic (id) on delete cascade, number integer not null, earliest integer not null, latest integer not null,
  bytes integer not null, last_at integer not null, primary key (topic, number)
) strict, without rowid;
create table batch (
  id integer primary key, topic integer not null, partition integer not null, base integer not null, count integer not null, at integer not null,
  messages blob not null, foreign key (topic, partition) references partition (topic, number) on delete cascade
) strict;
create unique index batch_by_base on batch (topic, partition, base);
create index batch_by_time on batch (topic, partition, at);
`);
  },
];
