/**
 * The files that models are generated of: a JSON Schema, a table of Arrow, a .proto file with its
 * imports, or a folder.
 */

import { readdir } from "node:fs/promises";
import { basename, dirname, extname, join, relative } from "node:path";
import { readRegularFile } from "../disk/regular-file.ts";
import { readArrowSchema } from "./arrow-schema.ts";
import { readJsonSchema } from "./json-schema.ts";
import { type MessageDefinition, SchemaError } from "./message-types.ts";
import { linkProtoFiles, type ProtoFile, readProtoFile } from "./proto-file.ts";

const MOST_FILES = 2000;
const MOST_BYTES = 8 * 1024 * 1024;
/** How the names of files and streams of Arrow's IPC format end. */
const ARROW_FILES = [".arrow", ".arrows", ".feather", ".ipc"];

/** The definitions below a path. Throws SchemaError, and what reading files throws. */
export async function readSchema(path: string): Promise<MessageDefinition[]> {
  const folder = await readdir(path, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOTDIR") return undefined;
    if (error.code === "ENOENT") throw new SchemaError(`${path} does not exist`);
    throw error;
  });
  if (folder) return ofFolder(path, folder);
  if (extname(path) === ".json") return readJsonSchema(basename(path), textOf(path), basename(path).replace(/(\.schema)?\.json$/, ""));
  if (extname(path) === ".proto") return linkProtoFiles(withImports(path));
  if (ARROW_FILES.includes(extname(path)))
    return readArrowSchema(basename(path), bytesOf(path, true), basename(path, extname(path)).replace(/\.schema$/, ""));
  throw new SchemaError(
    `${path} is neither a .proto file nor a JSON Schema (.json) nor a table of Arrow (${ARROW_FILES.join(", ")}) nor a folder`,
  );
}

function ofFolder(path: string, names: readonly string[]): MessageDefinition[] {
  const files = names.filter((name) => name.endsWith(".proto")).sort();
  if (files.length === 0) throw new SchemaError(`${path} has no .proto files`);
  if (files.length > MOST_FILES) throw new SchemaError(`${path} has more than ${MOST_FILES} .proto files`);
  return linkProtoFiles(files.map((name) => readProtoFile(name, textOf(join(path, name)))));
}

/** A file and all that it imports, below the nearest folder above it that has them. */
function withImports(path: string): ProtoFile[] {
  const files = new Map<string, ProtoFile>();
  const waiting = [path];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    if (files.size >= MOST_FILES) throw new SchemaError(`${path} imports more than ${MOST_FILES} files`);
    const read = readProtoFile(relative(dirname(path), file) || basename(file), textOf(file));
    files.set(file, read);
    for (const name of read.imports) {
      const found = name.startsWith("google/protobuf/") ? undefined : findImport(file, name);
      if (found !== undefined) waiting.push(found);
      else if (!name.startsWith("google/protobuf/"))
        throw new SchemaError(
          `${read.path} imports ${name}, which is in no folder above it: name the folder with all files, --in <folder>`,
        );
    }
  }
  return [...files.values()];
}

function findImport(from: string, name: string): string | undefined {
  for (let folder = dirname(from); ; folder = dirname(folder)) {
    const path = join(folder, name);
    if (readRegularFile(path, { maxBytes: MOST_BYTES }) !== undefined) return path;
    if (dirname(folder) === folder) return undefined;
  }
}

function textOf(path: string): string {
  return bytesOf(path).toString("utf8");
}

function bytesOf(path: string, isBeginning = false): Buffer {
  const bytes = readRegularFile(path, { maxBytes: MOST_BYTES, isBeginning });
  if (bytes === undefined) throw new SchemaError(`${path} does not exist`);
  return bytes;
}
