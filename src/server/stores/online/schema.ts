/** Tables of `online.db`. */

import type { Migration } from "../sqlite/open.ts";

/** "svco" as four bytes: marks a file as this program's online store (`PRAGMA application_id`). */
export const ONLINE_APPLICATION_ID = 0x7376636f;

/**
 * Steps of the schema. `scope` is `main` or a branch's name, `pk` the type-tagged key of
 * `storeKey`, `value` the text of `encodeStored` or the bytes of a packed list, times are epoch
 * milliseconds, `op` is the resolver's FQN, `expires_at` is null for values that never expire.
 * Without rowid, so that the features of one row are adjacent on a page.
 */
export const ONLINE_MIGRATIONS: readonly Migration[] = [
  (db) => {
    db.run(`create table online (
      scope text not null,
      ns text not null,
      pk text not null,
      fid integer not null,
      value blob not null,
      observed_at integer not null,
      inserted_at integer not null,
      op text not null,
      primary key (scope, ns, pk, fid)
    ) without rowid`);
  },
  (db) => {
    db.run("alter table online add column expires_at integer");
  },
  // From here on values may be packed lists, which programs of before cannot read.
  () => undefined,
];
