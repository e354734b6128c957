import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { SeriesRecord, SeriesStore } from "./series.ts";

/** The series of the SQLite driver. */
export function sqliteSeries(db: Database, writer: Writer, now: () => number): SeriesStore {
  const table = createTable<SeriesRecord>(db, "series", { id: integer, environmentId: text, definition: text, usedAt: integer });
  return {
    identify: (environmentId, definitions) =>
      writer.write(() =>
        definitions.map((definition) => {
          const usedAt = now();
          db.query(
            `insert into series (environment_id, definition, used_at) values (?1, ?2, ?3)
             on conflict (environment_id, definition) do update set used_at = max(used_at, excluded.used_at)`,
          ).run(environmentId, definition, usedAt);
          return table.one("where environment_id = ? and definition = ?", environmentId, definition)?.id as number;
        }),
      ),

    async list(environmentId) {
      return environmentId === undefined ? table.all("order by id") : table.all("where environment_id = ? order by id", environmentId);
    },

    forget: (ids, unusedSince) =>
      writer.write(() =>
        ids.filter((id) => db.query("delete from series where id = ?1 and used_at < ?2").run(id, unusedSince).changes > 0),
      ),
  };
}
