import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { UploadRecord, UploadStore } from "./uploads.ts";

/** Uploads of the SQLite driver. */
export function sqliteUploads(db: Database, writer: Writer): UploadStore {
  const uploads = createTable<UploadRecord>(db, "upload", {
    id: text,
    sha256: text,
    sizeBytes: integer,
    createdAt: integer,
    expiresAt: integer,
  });
  return {
    createUpload: (upload) =>
      writer.write(() => {
        uploads.insert(upload);
      }),

    async upload(id) {
      return uploads.one("where id = ?", id);
    },

    keepUpload: (id, expiresAt, until) =>
      writer.write(
        () => db.query("update upload set expires_at = ?3 where id = ?1 and expires_at = ?2").run(id, expiresAt, until).changes === 1,
      ),
  };
}
