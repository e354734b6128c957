import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, json, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { DeletionRecord, DeletionStore } from "./deletions.ts";

/** A deletion as it is stored. */
interface StoredDeletion extends DeletionRecord {
  /** Number of its keys and versions. */
  readonly keyCount: number;
}

/** The table of deletions. */
const tableOf = (db: Database) =>
  createTable<StoredDeletion>(db, "deletion", {
    id: text,
    environmentId: text,
    branch: text,
    rows: json(),
    versions: json(),
    keyCount: integer,
    createdAt: integer,
    expiresAt: integer,
    removed: json(),
  });

/** The step of a write that adds a deletion; false when there are too many keys and versions. */
export type InsertDeletion = (deletion: DeletionRecord, mostKeys: number) => boolean;

/** Makes the step. */
export function insertsDeletion(db: Database): InsertDeletion {
  const table = tableOf(db);
  return (deletion, mostKeys) => {
    const { ended = [], dropped = [] } = deletion.versions ?? {};
    const keyCount = deletion.rows.reduce((sum, { keys }) => sum + keys.length, ended.length + dropped.length);
    const there = db.query<{ n: number }, []>("select coalesce(sum(key_count), 0) as n from deletion").get()?.n ?? 0;
    if (there + keyCount > mostKeys) return false;
    table.insert({ ...deletion, keyCount });
    return true;
  };
}

const recordOf = ({ keyCount: _, ...record }: StoredDeletion): DeletionRecord => record;

/** Deletions of the SQLite driver. */
export function sqliteDeletions(db: Database, writer: Writer, insert: InsertDeletion): DeletionStore {
  const table = tableOf(db);
  const get = (id: string): DeletionRecord | undefined => {
    const stored = table.one("where id = ?", id);
    return stored && recordOf(stored);
  };

  return {
    create: (deletion, mostKeys) => writer.write(() => (insert(deletion, mostKeys) ? "created" : "full")),

    async ids() {
      return db
        .query<{ id: string }, []>("select id from deletion order by seq")
        .all()
        .map(({ id }) => id);
    },

    async get(id) {
      return get(id);
    },

    settle: (id, node, removed) =>
      writer.write(() => {
        const before = get(id);
        if (before) table.update({ removed: { ...before.removed, [node]: removed } }, "where id = $key", { key: id });
      }),

    purge: (now) => writer.write(() => db.query("delete from deletion where expires_at <= ?").run(now).changes),
  };
}
