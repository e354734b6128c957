import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { integer, json, oneOf, optional, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type { JobRecord, NewJob } from "./jobs.ts";
import type { ValueUploadRecord, ValueUploadStore } from "./value-uploads.ts";

const OPEN = "ended_at is null";

/** A record without the members whose absence is null in it and undefined in its row. */
interface StoredUpload extends Omit<ValueUploadRecord, "rows"> {
  readonly rows: number | undefined;
}

const recordOf = (stored: StoredUpload): ValueUploadRecord => ({ ...stored, rows: stored.rows ?? null });

/** Uploads of values of the SQLite driver. */
export function sqliteValueUploads(
  db: Database,
  writer: Writer,
  now: () => number,
  insertJob: (job: NewJob) => JobRecord,
): ValueUploadStore {
  const table = createTable<StoredUpload>(db, "value_upload", {
    id: text,
    environmentId: text,
    object: text,
    sha256: text,
    request: json(),
    state: oneOf(),
    fence: integer,
    createdAt: integer,
    endedAt: optional(integer),
    rowsChecked: integer,
    rows: optional(integer),
    rowsWritten: integer,
    onlineValues: integer,
    offlineValues: integer,
    deletedValues: integer,
    problems: json(),
    error: text,
  });
  const find = (id: string): ValueUploadRecord | undefined => {
    const stored = table.one("where id = ?", id);
    return stored && recordOf(stored);
  };
  /** Whether the holder of a fencing number may write to an upload. */
  const isWritable = (id: string, fence: number): boolean => table.one(`where id = ? and fence <= ? and ${OPEN}`, id, fence) !== undefined;

  return {
    create: (upload, job, limit) =>
      writer.write(() => {
        const open = db
          .query<{ n: number }, [string]>(`select count(*) as n from value_upload where environment_id = ? and ${OPEN}`)
          .get(upload.environmentId);
        if ((open?.n ?? 0) >= limit) return "full";
        const { createdAt } = insertJob(job);
        const counts = { rowsChecked: 0, rowsWritten: 0, onlineValues: 0, offlineValues: 0, deletedValues: 0 };
        const made = { ...upload, ...counts, state: "received", fence: 0, createdAt, endedAt: undefined, problems: [], error: "" } as const;
        table.insert({ ...made, rows: undefined });
        return { ...made, rows: null };
      }),

    begin: (id, fence) =>
      writer.write(() => {
        if (!isWritable(id, fence)) return undefined;
        table.update({ state: "running", fence }, "where id = $key", { key: id });
        return find(id);
      }),

    update: (id, fence, { rows, ...patch }) =>
      writer.write(() => {
        if (!isWritable(id, fence)) return false;
        const ended = patch.state && { endedAt: now() };
        table.update({ ...patch, ...(typeof rows === "number" && { rows }), fence, ...ended }, "where id = $key", { key: id });
        return true;
      }),

    async get(id) {
      return find(id);
    },

    async objectsInUse() {
      return new Set(
        db
          .query<{ object: string }, []>(`select object from value_upload where ${OPEN}`)
          .all()
          .map(({ object }) => object),
      );
    },

    purge: (olderThanMs, limit) =>
      writer.write(
        () =>
          db
            .query("delete from value_upload where seq in (select seq from value_upload where ended_at < ? order by ended_at limit ?)")
            .run(now() - olderThanMs, limit).changes,
      ),
  };
}
