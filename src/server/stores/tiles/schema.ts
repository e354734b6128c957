/** Tables of `tiles.db`. */

import type { Migration } from "../sqlite/open.ts";

/** "svcg" as four bytes: marks a file as this program's tile store (`PRAGMA application_id`). */
export const TILES_APPLICATION_ID = 0x73766367;

/**
 * Steps of the schema. Without rowid, so that a group's buckets are adjacent on a page. Offsets are
 * text, as they may be longer than a number holds; watermarks are microseconds since 1970.
 */
export const TILES_MIGRATIONS: readonly Migration[] = [
  (db) => {
    db.run(`create table tile (
      series integer not null, scope text not null, grp text not null, bucket integer not null, state blob not null,
      primary key (series, scope, grp, bucket)
    ) strict, without rowid`);
    db.run(`create table stream_position (
      scope text not null, stream_id text not null, partition integer not null, next_offset text not null, watermark integer,
      primary key (scope, stream_id, partition)
    ) strict, without rowid`);
  },
];
