import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, json, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { DocumentRecord, DocumentStore } from "./documents.ts";

/** The documents of the SQLite driver. */
export function sqliteDocuments(db: Database, writer: Writer): DocumentStore {
  const documents = createTable<DocumentRecord>(db, "document", {
    id: text,
    kind: text,
    scope: text,
    name: text,
    content: json<unknown>(),
    revision: integer,
    createdAt: integer,
    updatedAt: integer,
  });
  const named = ({ kind, scope, name }: DocumentRecord) => documents.one("where kind = ? and scope = ? and name = ?", kind, scope, name);

  return {
    insert: (document, limit) =>
      writer.write(() => {
        const { kind, scope } = document;
        if (named(document)) return "taken";
        const { total } = db
          .query<{ total: number }, [string, string]>("select count(*) as total from document where kind = ? and scope = ?")
          .get(kind, scope) as { total: number };
        if (total >= limit) return "full";
        documents.insert(document);
        return "inserted";
      }),

    async find({ kind, scope }, idOrName) {
      return documents.one(
        "where kind = ?1 and scope = ?2 and (id = ?3 or name = ?3) order by id = ?3 desc limit 1",
        kind,
        scope,
        idOrName,
      );
    },

    async list(kind, scope) {
      return scope === undefined
        ? documents.all("where kind = ? order by name, scope", kind)
        : documents.all("where kind = ? and scope = ? order by name", kind, scope);
    },

    replace: (document) =>
      writer.write(() => {
        const { id, revision, name, content, updatedAt } = document;
        const other = named(document);
        if (other && other.id !== id) return "taken";
        const changed = documents.update({ name, content, updatedAt, revision: revision + 1 }, "where id = $key and revision = $read", {
          key: id,
          read: revision,
        });
        return changed === 1 ? "replaced" : "stale";
      }),

    delete: ({ kind, scope }, id) => writer.write(() => documents.remove("where kind = ? and scope = ? and id = ?", kind, scope, id)[0]),

    deleteScope: (scope) => writer.write(() => documents.remove("where scope = ?", scope).length),
  };
}
