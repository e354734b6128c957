import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, json, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { DeletionRecord, DeletionStore } from "./deletions.ts";

/** A deletion as it is stored. */
interface StoredDeletion extends DeletionRecord {
  /** Number of its keys. */
  readonly keyCount: number;
}

const recordOf = ({ keyCount: _, ...record }: StoredDeletion): DeletionRecord => record;

/** Deletions of the SQLite driver. */
export function sqliteDeletions(db: Database, writer: Writer): DeletionStore {
  const table = createTable<StoredDeletion>(db, "deletion", {
    id: text,
    environmentId: text,
    branch: text,
    rows: json(),
    keyCount: integer,
    createdAt: integer,
    expiresAt: integer,
    removed: json(),
  });
  const get = (id: string): DeletionRecord | undefined => {
    const stored = table.one("where id = ?", id);
    return stored && recordOf(stored);
  };

  return {
    create: (deletion, mostKeys) =>
      writer.write(() => {
        const keyCount = deletion.rows.reduce((sum, { keys }) => sum + keys.length, 0);
        const there = db.query<{ n: number }, []>("select coalesce(sum(key_count), 0) as n from deletion").get()?.n ?? 0;
        if (there + keyCount > mostKeys) return "full";
        table.insert({ ...deletion, keyCount });
        return "created";
      }),

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
