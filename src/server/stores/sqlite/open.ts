/**
 * Opening of svc's own database files: private, versioned, migrated in one transaction after a
 * backup.
 */

import { constants, Database } from "bun:sqlite";
import { closeSync, existsSync, openSync, readSync, rmSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { isOutOfSpaceAt, reasonAt, systemCode, systemWords } from "../../../disk/disk-error.ts";
import { createPrivateFile, syncFile, syncFolder } from "../../../disk/private-file.ts";
import { renameInPlaceSync } from "../../../disk/rename.ts";
import { errorText } from "../../../domain/error-text.ts";
import { StartError } from "../../failure.ts";

/**
 * One step of a schema. Steps are numbered from 1 by their position in the list and never edited
 * once released.
 */
export type Migration = (db: Database) => void;

/** Options with which a database is opened. */
export interface OpenOptions {
  /** Absolute path; `:memory:` for tests. */
  readonly path: string;
  /**
   * Number that marks the file as svc's (`PRAGMA application_id`); another program's database is
   * refused.
   */
  readonly applicationId: number;
  readonly migrations: readonly Migration[];
  /**
   * `full`: an acknowledged write survives a power cut. `normal`: it survives the death of the
   * process.
   */
  readonly synchronous: "full" | "normal";
  /** Version of the program, for the message about a newer schema. */
  readonly programVersion: string;
}

/** Milliseconds to wait for others that have the file locked, and between two looks at it. */
const BUSY_MS = 5_000;
const BUSY_STEP_MS = 5;

const HEADER_BYTES = 100;
const PAGE_SIZE_OFFSET = 16;
const CHANGES_OFFSET = 24;
const PAGES_OFFSET = 28;
/** Value of the change counter for which the number of pages is right. */
const PAGES_VALID_OFFSET = 92;
const USER_VERSION_OFFSET = 60;
const APPLICATION_ID_OFFSET = 68;

/**
 * Opens or creates a database and brings it to the newest schema. A backup `<file>.v<old>.backup`
 * is kept before a migration.
 * @throws StartError when the file is newer than this program, another program's, or damaged; the
 * file is not touched then.
 */
export function openDatabase(options: OpenOptions): Database {
  const { path, migrations } = options;
  const inMemory = path === ":memory:";
  const stamp = inMemory ? undefined : inspectDatabase(options);
  const db = inMemory ? new Database(path, { create: true, strict: true }) : createFile(path);
  try {
    db.run(`pragma busy_timeout = ${BUSY_MS}`);
    useWriteAheadLog(db);
    db.run(`pragma synchronous = ${options.synchronous}`);
    db.run("pragma foreign_keys = on");
    const version = stamp?.version ?? 0;
    if (version < migrations.length) {
      if (version > 0) backUp(db, `${path}.v${version}.backup`);
      migrate(db, options);
    }
  } catch (error) {
    db.close();
    if (isDamage(error)) throw damaged(path, error);
    if (systemWords(error) === undefined) throw error;
    throw unopened(path, error);
  }
  return db;
}

/**
 * Changes a database to a write-ahead log. While another is about to write to a new file, SQLite
 * refuses that at once, whatever its busy timeout.
 */
function useWriteAheadLog(db: Database): void {
  const until = performance.now() + BUSY_MS;
  for (;;) {
    try {
      db.run("pragma journal_mode = wal");
      return;
    } catch (error) {
      if (systemCode(error) !== "SQLITE_BUSY" || performance.now() > until) throw error;
      Bun.sleepSync(BUSY_STEP_MS);
    }
  }
}

function createFile(path: string): Database {
  try {
    createPrivateFile(path);
    return new Database(path, { create: true, strict: true });
  } catch (error) {
    throw unopened(path, error);
  }
}

/** Schema version and owner of a database file. */
export interface Stamp {
  readonly version: number;
  readonly applicationId: number;
}

/**
 * Reads a database file's version and owner without changing a byte of it, and refuses it as
 * `openDatabase` would. Undefined when there is no file yet.
 * @throws StartError
 */
export function inspectDatabase(options: Pick<OpenOptions, "path" | "applicationId" | "migrations" | "programVersion">): Stamp | undefined {
  const stamp = readStamp(options.path);
  if (stamp) refuseUnusable(stamp, options);
  return stamp;
}

function refuseUnusable(stamp: Stamp, options: Parameters<typeof inspectDatabase>[0]): void {
  const file = basename(options.path);
  if (stamp.applicationId !== options.applicationId && (stamp.version > 0 || stamp.applicationId !== 0)) {
    throw new StartError(
      "data_damaged",
      `${options.path} is not a database of this program.`,
      "Choose another data directory with `--data-dir`.",
    );
  }
  if (stamp.version > options.migrations.length) {
    throw new StartError(
      "newer_schema",
      `${file} has schema ${stamp.version}, and this program (version ${options.programVersion}) knows schemas up to ${options.migrations.length}. Nothing was changed.`,
      `Start the server with the newer version of svc that wrote ${options.path}, or choose another data directory with \`--data-dir\`.`,
    );
  }
}

/**
 * Reads version and owner without changing a byte, also when a crash left a write-ahead log beside
 * the file.
 */
function readStamp(path: string): Stamp | undefined {
  if (!existsSync(path) || statSync(path).size === 0) return undefined;
  const wal = `${path}-wal`;
  if (!existsSync(wal) || statSync(wal).size === 0) return readHeader(path);
  let db: Database | undefined;
  try {
    db = new Database(path, { readonly: true, strict: true });
    db.run(`pragma busy_timeout = ${BUSY_MS}`);
    db.fileControl(constants.SQLITE_FCNTL_PERSIST_WAL, 1);
    const version = db.query<{ user_version: number }, []>("pragma user_version").get()?.user_version ?? 0;
    const applicationId = db.query<{ application_id: number }, []>("pragma application_id").get()?.application_id ?? 0;
    return { version, applicationId };
  } catch (error) {
    throw damaged(path, error);
  } finally {
    db?.close();
  }
}

function readHeader(path: string): Stamp {
  const header = new Uint8Array(HEADER_BYTES);
  const fd = openSync(path, "r");
  let length: number;
  try {
    length = readSync(fd, header, 0, HEADER_BYTES, 0);
  } finally {
    closeSync(fd);
  }
  if (length < HEADER_BYTES || !new TextDecoder("latin1").decode(header).startsWith("SQLite format 3\0")) {
    throw damaged(path, new Error("it is not an SQLite file"));
  }
  const view = new DataView(header.buffer);
  const pageSize = view.getUint16(PAGE_SIZE_OFFSET) === 1 ? 65_536 : view.getUint16(PAGE_SIZE_OFFSET);
  const pages = view.getUint32(CHANGES_OFFSET) === view.getUint32(PAGES_VALID_OFFSET) ? view.getUint32(PAGES_OFFSET) : 0;
  const { size } = statSync(path);
  if (size < pages * pageSize) throw damaged(path, new Error(`its end is missing: it has ${size} of ${pages * pageSize} bytes`));
  return { version: view.getInt32(USER_VERSION_OFFSET), applicationId: view.getInt32(APPLICATION_ID_OFFSET) };
}

function backUp(db: Database, path: string): void {
  const partial = `${path}.partial`;
  rmSync(partial, { force: true });
  createPrivateFile(partial);
  db.query("vacuum into ?").run(partial);
  syncFile(partial);
  renameInPlaceSync(partial, path);
  syncFolder(dirname(path));
}

/** Another process may have migrated the file meanwhile: the version is read under the lock. */
function migrate(db: Database, options: OpenOptions): void {
  db.run("begin exclusive");
  try {
    const from = db.query<{ user_version: number }, []>("pragma user_version").get()?.user_version ?? 0;
    for (const step of options.migrations.slice(from)) step(db);
    db.run(`pragma application_id = ${options.applicationId}`);
    db.run(`pragma user_version = ${options.migrations.length}`);
    db.run("commit");
  } catch (error) {
    if (db.inTransaction) db.run("rollback");
    throw error;
  }
}

/**
 * The StartError for an error that damage of the file at `path` caused; any other error is returned
 * as it is. A table or column that the schema has and the file lacks means damage too.
 */
export function explainDamage(path: string, error: unknown): unknown {
  return !(error instanceof StartError) && isDamage(error) ? damaged(path, error) : error;
}

/** Whether an error means that the database file is damaged. */
export function isDamage(error: unknown): boolean {
  if (error instanceof StartError) return error.code === "data_damaged";
  const lacks = error instanceof Error && /no such (table|column)|has no column named/.test(error.message);
  return lacks || /^SQLITE_(CORRUPT|NOTADB)/.test(systemCode(error) ?? "");
}

function unopened(path: string, error: unknown): StartError {
  return new StartError(
    "data_unusable",
    `${path} cannot be opened: ${reasonAt(path, error)}.`,
    isOutOfSpaceAt(path, error)
      ? "Make room on that device and start again."
      : "Choose another data directory with `--data-dir`, or give this user its rights.",
  );
}

function damaged(path: string, cause: unknown): StartError {
  const reason = errorText(cause);
  return new StartError(
    "data_damaged",
    `${path} cannot be read: ${reason}.`,
    "Restore it from a backup (files ending in .backup lie beside it). To begin without what was in it: `svc server start --new`, which sets all files aside.",
  );
}

/**
 * Moves a damaged database with its log files aside, replacing one that was set aside earlier. No
 * connection that deletes its log on closing may be open.
 * @returns where the file is now
 */
export function setAside(path: string): string {
  const kept = `${path}.damaged`;
  for (const part of ["", "-wal", "-shm"]) {
    rmSync(`${kept}${part}`, { force: true });
    if (existsSync(`${path}${part}`)) renameInPlaceSync(`${path}${part}`, `${kept}${part}`);
  }
  return kept;
}
