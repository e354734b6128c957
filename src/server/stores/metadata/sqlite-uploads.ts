import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { UploadRecord, UploadStore } from "./uploads.ts";

const ENDED_KEPT_MS = 86_400_000;

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
        db.query("delete from upload where expires_at < ?").run(upload.createdAt - ENDED_KEPT_MS);
        uploads.insert(upload);
      }),

    async upload(id) {
      return uploads.one("where id = ?", id);
    },
  };
}
