/**
 * Uploads: files that are announced, put in parts by signed addresses, and become a revision in one
 * step. A part is an object whose key ends with its digest, so that a part that is there is whole;
 * who goes on with an upload asks which are. What is cut off leaves parts, which are removed with
 * the revision that was never completed.
 */

import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../context/clock.ts";
import { joinTypes } from "../../domain/expressions/types.ts";
import { typeName } from "../../domain/value.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { AnnouncedFile, DatasetUploadRecord, RevisionRecord } from "../stores/metadata/datasets.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { MAX_LARGE_OBJECT_BYTES, MAX_OBJECT_BYTES, type ObjectStore } from "../stores/objects/store.ts";
import { type TableColumn, type TableEngine, TableError, type TableFormat } from "../tables/engine.ts";
import { objectsOf, revisionPrefix } from "./dataset-objects.ts";
import { checkDatasetName, checkFileName } from "./names.ts";
import { DATASET_LIMITS, newRevision, type Revisions, tooManyDatasets } from "./revision-maker.ts";

/** Most files of an upload, and most parts of a file. */
const MAX_UPLOAD_FILES = 1_000;
const MAX_PARTS = 1_000;
const DEFAULT_PART_BYTES = 8 * 1024 * 1024;
const LEAST_PART_BYTES = 64 * 1024;
const DIGEST = /^[0-9a-f]{64}$/;

/** The formats of tables, by the end of a file's name. */
const FORMATS: readonly (readonly [RegExp, TableFormat])[] = [
  [/\.(?:parquet|pq)$/i, "parquet"],
  [/\.csv$/i, "csv"],
  [/\.(?:json|jsonl|ndjson)$/i, "json"],
];

/** Files that a caller announces. */
export interface UploadWish {
  readonly environmentId: string;
  readonly dataset: string;
  readonly files: readonly AnnouncedFile[];
  /** Wanted bytes of a part; 0 = any. */
  readonly partBytes: number;
  /** Client that asks. */
  readonly clientId: string;
}

/** A part of an upload that a caller has. */
export interface OfferedPart {
  /** Positions from 0. */
  readonly file: number;
  readonly part: number;
  readonly sha256: string;
}

/** Uploads. */
export interface DatasetUploads {
  /**
   * Announces files; the upload of the same files that is open, if there is one. Rejects with
   * Failure invalid_argument, resource_exhausted.
   */
  announce(wish: UploadWish): Promise<{ readonly upload: DatasetUploadRecord; readonly datasetId: string }>;
  /**
   * Signed addresses of parts, and undefined for those that are there. Rejects with Failure
   * not_found, failed_precondition, invalid_argument.
   */
  addresses(environmentId: string, uploadId: string, parts: readonly OfferedPart[]): Promise<(string | undefined)[]>;
  /**
   * Makes a revision of an upload. Rejects with Failure not_found, failed_precondition,
   * invalid_argument.
   */
  finalize(environmentId: string, uploadId: string): Promise<RevisionRecord>;
}

/** A file of a table that was put together on this machine. */
interface LocalFile {
  readonly name: string;
  readonly path: string;
  readonly format: TableFormat;
}

/** A file of a table, as the engine describes it. */
interface DescribedFile extends LocalFile {
  readonly columns: readonly TableColumn[];
  readonly rows: number;
}

/** Makes the capability. */
export function createDatasetUploads({
  metadata: { datasets },
  objects,
  revisions,
  tables,
  workFolder,
  clock,
}: {
  readonly metadata: Pick<MetadataStore, "datasets">;
  readonly objects: ObjectStore;
  readonly revisions: Revisions;
  readonly tables: () => Promise<TableEngine>;
  /** Makes a folder for temporary files, which its user removes. */
  readonly workFolder: () => Promise<string>;
  readonly clock: Clock;
}): DatasetUploads {
  /** Uploads that are being finalized on this node, by id. */
  const finalizing = new Map<string, Promise<RevisionRecord>>();

  /** The upload of an id and its revision. */
  const uploadOf = async (environmentId: string, id: string): Promise<{ upload: DatasetUploadRecord; revision: RevisionRecord }> => {
    const upload = await datasets.upload(id);
    const revision = upload && (await datasets.revision(upload.revisionId));
    if (!revision || upload.environmentId !== environmentId)
      throw new Failure("not_found", "There is no such upload, or it is over.", { hint: "Upload the files again." });
    return { upload, revision };
  };
  const refuseEnded = ({ state }: RevisionRecord): void => {
    if (state !== "writing")
      throw new Failure("failed_precondition", `The upload is over: its revision is ${state}.`, { hint: "Upload the files again." });
  };
  const partsPrefix = (revision: RevisionRecord, file: number): string => `${revisionPrefix(revision)}parts/${file}-`;

  /**
   * The keys of a file's parts, in order. Rejects with Failure failed_precondition when one is
   * missing.
   */
  const partKeys = async (upload: DatasetUploadRecord, revision: RevisionRecord, at: number): Promise<string[]> => {
    const { name, bytes } = upload.files[at] as AnnouncedFile;
    const prefix = partsPrefix(revision, at);
    const found = new Map<number, string>();
    for await (const { key, size } of objectsOf(objects, prefix)) {
      const part = Number.parseInt(key.slice(prefix.length), 10);
      if (size === partLength(upload, at, part)) found.set(part, key);
    }
    return Array.from({ length: Math.ceil(bytes / upload.partBytes) }, (_, part) => {
      const key = found.get(part);
      if (key === undefined)
        throw new Failure("failed_precondition", `Part ${part + 1} of '${name}' has not arrived.`, {
          hint: "Run the upload again: parts that arrived are not sent again.",
        });
      return key;
    });
  };

  /** Puts a file together; its digest is the announced one. */
  const assemble = async (upload: DatasetUploadRecord, revision: RevisionRecord, at: number, path: string): Promise<void> => {
    const keys = await partKeys(upload, revision, at);
    const { name, sha256 } = upload.files[at] as AnnouncedFile;
    const hasher = new Bun.CryptoHasher("sha256");
    const file = await open(path, "w", 0o600);
    try {
      for (const key of keys) {
        const body = await objects.get(key);
        for await (const chunk of body instanceof Blob ? body.stream() : (body ?? [])) {
          hasher.update(chunk);
          await file.writeFile(chunk);
        }
      }
    } finally {
      await file.close();
    }
    await datasets.touch(revision.id, clock.now());
    if (hasher.digest("hex") === sha256) return;
    for (const key of keys) await objects.delete(key);
    throw new Failure("failed_precondition", `The parts of '${name}' do not make up the file that was announced.`, {
      hint: "Did the file change during the upload? Run the upload again.",
    });
  };

  const complete = async (upload: DatasetUploadRecord, revision: RevisionRecord): Promise<RevisionRecord> => {
    const work = await workFolder();
    try {
      const isTable = upload.files.some(({ name }) => formatOf(name) !== undefined);
      const columns = await (isTable ? addTables : addOthers)(upload, revision, work);
      await revisions.complete(revision.id, columns);
      return (await datasets.revision(revision.id)) ?? revision;
    } catch (error) {
      const now = await datasets.revision(revision.id);
      if (now?.state === "complete") return now;
      if (error instanceof Failure && error.kind === "invalid_argument") await revisions.abandon(revision.id);
      throw error;
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  };

  const addOthers = async (upload: DatasetUploadRecord, revision: RevisionRecord, work: string): Promise<readonly TableColumn[]> => {
    for (const [at, { name }] of upload.files.entries()) {
      const path = join(work, String(at));
      await assemble(upload, revision, at, path);
      await revisions.addFile(revision.id, { name, path, kind: "output", rows: 0 });
      await rm(path);
    }
    return [];
  };

  /**
   * Adds the files of a table, as Parquet and those of other formats as given too; returns its
   * columns.
   */
  const addTables = async (upload: DatasetUploadRecord, revision: RevisionRecord, work: string): Promise<readonly TableColumn[]> => {
    const { id } = revision;
    const engine = await tables();
    const described: DescribedFile[] = [];
    for (const [at, { name }] of upload.files.entries()) {
      const path = join(work, String(at));
      await assemble(upload, revision, at, path);
      described.push(await describe(engine, name, path));
    }
    const columns = commonColumns(described);
    for (const [at, { format, name, path, rows }] of described.entries()) {
      if (format === "parquet") {
        await revisions.addFile(id, { name, path, kind: "output", rows });
        continue;
      }
      const converted = join(work, `${at}.parquet`);
      await convert(engine, { name, path, format }, columns, converted);
      await revisions.addFile(id, { name: convertedName(name), path: converted, kind: "output", rows });
      await revisions.addFile(id, { name, path, kind: "givens", rows });
      await rm(converted, { force: true });
    }
    return columns;
  };

  return {
    async announce({ environmentId, dataset, files, partBytes: wantedPart, clientId }) {
      checkDatasetName(dataset);
      checkFiles(files);
      const largest = Math.max(...files.map(({ bytes }) => bytes));
      const wanted = wantedPart > 0 ? wantedPart : DEFAULT_PART_BYTES;
      const partBytes = Math.min(Math.max(wanted, LEAST_PART_BYTES, Math.ceil(largest / MAX_PARTS)), MAX_OBJECT_BYTES);
      const now = clock.now();
      const id = newId("dup", now);
      const made = newRevision({ environmentId, dataset, origin: "upload", originId: id, createdBy: clientId }, now);
      const fingerprint = new Bun.CryptoHasher("sha256").update(JSON.stringify([clientId, dataset, partBytes, files])).digest("hex");
      const upload = await datasets.beginUpload(
        made.dataset,
        made.revision,
        { id, environmentId, revisionId: made.revision.id, fingerprint, files, partBytes, createdAt: now },
        DATASET_LIMITS,
      );
      if (upload === "full") throw tooManyDatasets();
      return { upload, datasetId: (await datasets.revision(upload.revisionId))?.datasetId ?? "" };
    },

    async addresses(environmentId, uploadId, parts) {
      const { upload, revision } = await uploadOf(environmentId, uploadId);
      refuseEnded(revision);
      if (parts.length > MAX_PARTS)
        throw new Failure("invalid_argument", `A call names at most ${MAX_PARTS} parts, and this one ${parts.length}.`);
      return Promise.all(
        parts.map(async ({ file, part, sha256 }) => {
          const length = partLength(upload, file, part);
          if (length === undefined || !DIGEST.test(sha256))
            throw new Failure("invalid_argument", `The upload has no part ${part} of a file ${file} with that digest.`);
          const key = `${partsPrefix(revision, file)}${part}.${sha256}`;
          return (await objects.size(key)) === length ? undefined : (await objects.sign("put", key, length)).url;
        }),
      );
    },

    async finalize(environmentId, uploadId) {
      const { upload, revision } = await uploadOf(environmentId, uploadId);
      if (revision.state === "complete") return revision;
      refuseEnded(revision);
      const running = finalizing.get(uploadId) ?? complete(upload, revision).finally(() => finalizing.delete(uploadId));
      finalizing.set(uploadId, running);
      return running;
    },
  };
}

/** Throws Failure invalid_argument for files that cannot be uploaded together. */
function checkFiles(files: readonly AnnouncedFile[]): void {
  if (files.length === 0 || files.length > MAX_UPLOAD_FILES)
    throw new Failure("invalid_argument", `An upload has 1 to ${MAX_UPLOAD_FILES} files, and this one ${files.length}.`);
  const names = new Set<string>();
  for (const { name, bytes, sha256 } of files) {
    checkFileName(name);
    for (const taken of resultNames(name)) {
      if (names.has(taken)) throw new Failure("invalid_argument", `Two files of the upload are called '${taken}'.`);
      names.add(taken);
    }
    if (!DIGEST.test(sha256)) throw new Failure("invalid_argument", `The digest of '${name}' is no SHA-256 in lower-case hex.`);
    if (!(Number.isSafeInteger(bytes) && bytes > 0))
      throw new Failure("invalid_argument", `The file '${name}' is empty.`, { hint: "Leave it out." });
    if (bytes > MAX_LARGE_OBJECT_BYTES)
      throw new Failure(
        "invalid_argument",
        `The file '${name}' has ${bytes} bytes, and a file of a dataset has at most ${MAX_LARGE_OBJECT_BYTES}.`,
        {
          hint: "Split the table into several files: all files of an upload are one revision.",
        },
      );
  }
  const [table, other] = [files.find(({ name }) => formatOf(name)), files.find(({ name }) => !formatOf(name))];
  if (table && other)
    throw new Failure("invalid_argument", `'${table.name}' is a table and '${other.name}' is none, so they cannot be one revision.`, {
      hint: "Upload them under two names. Tables end with .parquet, .csv, .json, .jsonl or .ndjson.",
    });
}

function formatOf(name: string): TableFormat | undefined {
  return FORMATS.find(([pattern]) => pattern.test(name))?.[1];
}

function convertedName(name: string): string {
  return `${name}.parquet`;
}

/** The names of the files that a file becomes. */
function resultNames(name: string): string[] {
  const format = formatOf(name);
  return format === undefined || format === "parquet" ? [name] : [name, convertedName(name)];
}

/** The length of a part; undefined when the upload has none of that position. */
function partLength({ files, partBytes }: DatasetUploadRecord, file: number, part: number): number | undefined {
  const bytes = files[file]?.bytes;
  const start = part * partBytes;
  return bytes !== undefined && Number.isInteger(part) && part >= 0 && start < bytes ? Math.min(partBytes, bytes - start) : undefined;
}

async function describe(engine: TableEngine, name: string, path: string): Promise<DescribedFile> {
  const format = formatOf(name);
  if (!format) throw new Error("only tables are described");
  try {
    return { name, path, format, ...(await engine.describe(path, format)) };
  } catch (error) {
    throw explained(error, { name, path, format });
  }
}

/** Writes a file of a caller as Parquet, its values as the types of the columns. */
async function convert(
  engine: TableEngine,
  { name, path, format }: LocalFile,
  columns: readonly TableColumn[],
  target: string,
): Promise<void> {
  const writer = await engine.write(target, columns);
  try {
    for await (const chunk of engine.read(path, { format, columns })) await writer.append(chunk);
    await writer.finish();
  } catch (error) {
    await writer.abandon();
    throw explained(error, { name, path, format });
  }
}

const FORMAT_NAMES: Readonly<Record<TableFormat, string>> = { parquet: "Parquet", csv: "CSV", json: "JSON with one object a line" };

/** What a caller is told when the engine could not use a file. */
function explained(error: unknown, { name, path, format }: LocalFile): unknown {
  if (!(error instanceof TableError)) return error;
  if (error.code === "unavailable") return new Failure("unavailable", error.message);
  if (error.code === "failed") return error;
  const [told = ""] = error.message.replace(`${path} cannot be read: `, "").split(/\n\s*LINE /);
  const reason = told.replaceAll(path, name).replace(/\s+/g, " ").trim().replace(/\.$/, "");
  if (error.code === "exhausted") return new Failure("resource_exhausted", `'${name}' cannot be read: ${reason}.`);
  return new Failure("invalid_argument", `'${name}' cannot be read as ${FORMAT_NAMES[format]}: ${reason}.`, {
    hint: "Nothing was kept. Correct the file, or give it another name to keep its bytes as they are.",
  });
}

/**
 * The columns of all files. Files of text have no types of their own, so that whole numbers in one
 * and others in the next are numbers in all. Throws Failure invalid_argument when they differ.
 */
function commonColumns(files: readonly DescribedFile[]): readonly TableColumn[] {
  const [first, ...rest] = files;
  let columns: readonly TableColumn[] = first?.columns ?? [];
  const repeated = columns.find(({ name }, at) => columns.findIndex((other) => other.name === name) < at);
  if (repeated) throw new Failure("invalid_argument", `'${first?.name}' has two columns '${repeated.name}'.`);
  for (const file of rest) {
    const differ = (how: string): Failure =>
      new Failure("invalid_argument", `All files of a revision have the same columns, but ${how}.`, {
        hint: "Nothing was kept. Upload tables with different columns under different names.",
      });
    if (file.columns.length !== columns.length)
      throw differ(`'${first?.name}' has ${columns.length} columns and '${file.name}' ${file.columns.length}`);
    columns = columns.map((column, at) => {
      const other = file.columns[at] as TableColumn;
      if (other.name !== column.name)
        throw differ(`column ${at + 1} is '${column.name}' in '${first?.name}' and '${other.name}' in '${file.name}'`);
      const [one, two] = [typeName(column.dtype), typeName(other.dtype)];
      if (one === two) return column;
      const isText = files.every(({ format }) => format !== "parquet");
      const joined = isText ? joinTypes(column.dtype, other.dtype) : undefined;
      if (!joined) throw differ(`'${column.name}' is ${one} in '${first?.name}' and ${two} in '${file.name}'`);
      return { name: column.name, dtype: joined };
    });
  }
  return columns;
}
