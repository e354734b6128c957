import type { Database } from "bun:sqlite";
import type { Writer } from "../sqlite/group-commit.ts";
import { flag, integer, json, oneOf, optional, text } from "../sqlite/row-codec.ts";
import { createTable } from "../sqlite/table.ts";
import type {
  DatasetFileRecord,
  DatasetLimits,
  DatasetRecord,
  DatasetStore,
  DatasetUploadRecord,
  NewRevisionRecord,
  RevisionRecord,
  ShownDataset,
} from "./datasets.ts";

const COMPLETE_OF_DATASET = "from dataset_revision r where r.dataset_id = dataset.id and r.state = 'complete'";

/** The datasets of the SQLite backend. */
export function datasetQueries(db: Database, writer: Writer): DatasetStore {
  const datasets = createTable<DatasetRecord>(db, "dataset", {
    id: text,
    environmentId: text,
    name: optional(text),
    createdAt: integer,
    updatedAt: optional(integer),
    lastNumber: integer,
  });
  const revisions = createTable<RevisionRecord>(db, "dataset_revision", {
    id: text,
    environmentId: text,
    datasetId: text,
    number: optional(integer),
    state: oneOf(),
    origin: oneOf(),
    originId: text,
    columns: json(),
    rows: integer,
    bytes: integer,
    statistics: optional(json()),
    createdBy: text,
    createdAt: integer,
    touchedAt: integer,
    completedAt: optional(integer),
    archivedAt: optional(integer),
    hasRemains: flag,
  });
  const files = createTable<DatasetFileRecord>(db, "dataset_file", {
    revisionId: text,
    name: text,
    kind: oneOf(),
    key: text,
    bytes: integer,
    rows: integer,
    sha256: text,
  });
  const uploads = createTable<DatasetUploadRecord>(db, "dataset_upload", {
    id: text,
    environmentId: text,
    revisionId: text,
    fingerprint: text,
    files: json(),
    partBytes: integer,
    createdAt: integer,
  });
  const endedQuery = db.query<object, [string]>("select 1 from offline_query where id = ? and ended_at is not null");
  const count = (sql: string, ...values: string[]): number =>
    db.query<{ n: number }, string[]>(`select count(*) as n ${sql}`).get(...values)?.n ?? 0;
  const shown = (dataset: DatasetRecord): ShownDataset => {
    return { ...dataset, revisions: count("from dataset_revision where dataset_id = ? and state = 'complete'", dataset.id) };
  };
  const writing = (id: string): RevisionRecord | undefined => revisions.one("where id = ? and state = 'writing'", id);

  const ofOrigin = ({ environmentId, origin, originId }: Pick<RevisionRecord, "environmentId" | "origin" | "originId">) =>
    revisions.one("where environment_id = ? and origin = ? and origin_id = ?", environmentId, origin, originId);

  const begin = (
    { id, name }: Pick<DatasetRecord, "id" | "name">,
    revision: NewRevisionRecord,
    limits: DatasetLimits,
  ): RevisionRecord | "full" => {
    const { environmentId, createdAt } = revision;
    const known = ofOrigin(revision);
    if (known) return known;
    if (count("from dataset_revision where environment_id = ? and state = 'writing'", environmentId) >= limits.writing) return "full";
    let dataset = name === undefined ? undefined : datasets.one("where environment_id = ? and name = ?", environmentId, name);
    if (!dataset) {
      if (count("from dataset where environment_id = ?", environmentId) >= limits.datasets) return "full";
      dataset = { id, environmentId, name, createdAt, updatedAt: undefined, lastNumber: 0 };
      datasets.insert(dataset);
    }
    const made: RevisionRecord = {
      ...{ ...revision, datasetId: dataset.id, number: undefined, state: "writing", columns: [], rows: 0, bytes: 0, statistics: undefined },
      ...{ touchedAt: createdAt, completedAt: undefined, archivedAt: undefined, hasRemains: true },
    };
    revisions.insert(made);
    return made;
  };
  const change = (revision: RevisionRecord, patch: Partial<RevisionRecord>): RevisionRecord => {
    revisions.update(patch, "where id = $key", { key: revision.id });
    return { ...revision, ...patch };
  };

  return {
    begin: (dataset, revision, limits) => writer.write(() => begin(dataset, revision, limits)),

    beginUpload: (dataset, revision, upload, limits) =>
      writer.write(() => {
        const open = uploads.one(
          `where environment_id = ? and fingerprint = ?
             and revision_id in (select id from dataset_revision where state = 'writing') order by seq desc limit 1`,
          upload.environmentId,
          upload.fingerprint,
        );
        if (open) return open;
        const begun = begin(dataset, revision, limits);
        if (begun === "full") return begun;
        uploads.insert(upload);
        return upload;
      }),

    async upload(id) {
      return uploads.one("where id = ?", id);
    },

    putFile: (file, now, limit) =>
      writer.write(() => {
        const revision = writing(file.revisionId);
        if (!revision) return "refused";
        const before = files.one("where revision_id = ? and name = ?", file.revisionId, file.name);
        if (before) files.update(file, "where revision_id = $revision and name = $file", { revision: file.revisionId, file: file.name });
        else if (count("from dataset_file where revision_id = ?", file.revisionId) >= limit) return "refused";
        else files.insert(file);
        change(revision, { touchedAt: now });
        return before;
      }),

    touch: (id, now) => writer.write(() => revisions.update({ touchedAt: now }, "where id = $key and state = 'writing'", { key: id }) > 0),

    complete: (id, columns, now) =>
      writer.write(() => {
        const revision = revisions.one("where id = ? and state in ('writing', 'complete')", id);
        if (revision?.state !== "writing") return revision;
        if (endedQuery.get(revision.originId)) return undefined;
        const dataset = datasets.one("where id = ?", revision.datasetId) as DatasetRecord;
        const number = dataset.lastNumber + 1;
        datasets.update({ lastNumber: number, updatedAt: now }, "where id = $key", { key: dataset.id });
        const sums = db
          .query<{ rows: number; bytes: number }, [string]>(
            `select coalesce(sum(rows) filter (where kind = 'output'), 0) as rows, coalesce(sum(bytes), 0) as bytes
             from dataset_file where revision_id = ?`,
          )
          .get(id) as { rows: number; bytes: number };
        return change(revision, { ...sums, number, columns, state: "complete", completedAt: now, touchedAt: now });
      }),

    fail: (id, now) =>
      writer.write(() => {
        const revision = writing(id);
        if (revision) change(revision, { state: "failed", touchedAt: now });
        return revision !== undefined;
      }),

    archive: (id, now) =>
      writer.write(() => {
        const revision = revisions.one("where id = ? and state in ('complete', 'archived')", id);
        if (revision?.state !== "complete") return revision;
        return change(revision, { state: "archived", archivedAt: now, touchedAt: now });
      }),

    keepStatistics: (id, statistics) =>
      writer.write(() => {
        revisions.update({ statistics }, "where id = $key", { key: id });
      }),

    swept: (id) =>
      writer.write(() => {
        revisions.update({ hasRemains: false }, "where id = $key and state <> 'writing'", { key: id });
      }),

    rename: (id, name) =>
      writer.write(() => {
        const dataset = datasets.one("where id = ?", id);
        if (!dataset) return undefined;
        const named = datasets.one("where environment_id = ? and name = ?", dataset.environmentId, name);
        if (named && named.id !== id) return "taken";
        datasets.update({ name }, "where id = $key", { key: id });
        return { ...dataset, name };
      }),

    async dataset(environmentId, idOrName) {
      const found =
        datasets.one("where environment_id = ? and id = ?", environmentId, idOrName) ??
        datasets.one("where environment_id = ? and name = ?", environmentId, idOrName);
      return found && shown(found);
    },

    async list({ environmentId, search, before, limit }) {
      return datasets
        .all(
          `where environment_id = ?1 and exists (select 1 ${COMPLETE_OF_DATASET})
             and (?2 is null or instr(lower(coalesce(name, '')), lower(?2)) > 0)
             and (?3 is null or seq < (select seq from dataset where id = ?3)) order by seq desc limit ?4`,
          environmentId,
          search ?? null,
          before ?? null,
          limit,
        )
        .map(shown);
    },

    async latest(datasetId) {
      return revisions.one("where dataset_id = ? and state = 'complete' order by number desc limit 1", datasetId);
    },

    async revision(id) {
      return revisions.one("where id = ?", id);
    },

    async begun(origin) {
      return ofOrigin(origin);
    },

    async revisions(datasetId, { below, limit }) {
      return revisions.all(
        `where dataset_id = ?1 and state in ('complete', 'archived') and (?2 is null or number < ?2) order by number desc limit ?3`,
        datasetId,
        below ?? null,
        limit,
      );
    },

    async files(revisionId) {
      return files.all("where revision_id = ? order by seq", revisionId);
    },

    async fileOf(revisionId, key) {
      return files.one("where revision_id = ? and key = ?", revisionId, key);
    },

    async overdue({ endedBefore, untouchedSince, limit }) {
      return revisions.all(
        `where state in ('archived', 'failed') and touched_at < ?1 or state = 'writing' and touched_at < ?2 order by touched_at limit ?3`,
        endedBefore,
        untouchedSince,
        limit,
      );
    },

    async unswept(limit) {
      return revisions.all("where has_remains = 1 and state <> 'writing' order by seq limit ?", limit);
    },

    async unprofiled(limit) {
      return revisions.all("where state = 'complete' and statistics is null and columns <> '[]' order by seq desc limit ?", limit);
    },

    remove: (id) =>
      writer.write(() => {
        const [revision] = revisions.remove("where id = ?", id);
        if (!revision) return;
        files.remove("where revision_id = ?", id);
        uploads.remove("where revision_id = ?", id);
        datasets.remove("where id = ?1 and not exists (select 1 from dataset_revision where dataset_id = ?1)", revision.datasetId);
      }),
  };
}
