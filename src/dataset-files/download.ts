/**
 * Downloading the files of a revision. Each comes into a hidden file beside its place, which a
 * later run continues, and gets its name when it is whole; no other file is ever written over.
 */

import { link, lstat, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DatasetLink } from "../../gen/svc/v1/dataset_pb.ts";
import type { Context } from "../context/context.ts";
import { systemCode } from "../disk/disk-error.ts";
import { fileHash } from "../disk/file-hash.ts";
import { renameInPlace } from "../disk/rename.ts";
import { escapeControls } from "../domain/name.ts";
import { isPortableName } from "../domain/portable-name.ts";
import { sizeText } from "../domain/size.ts";
import { CliError } from "../errors/cli-error.ts";
import { fromSystem } from "../errors/from-system.ts";
import { atOnce } from "./at-once.ts";

/** Files that come at once. */
const CONCURRENT = 4;

/** A file that is there now. */
export interface DownloadedFile {
  readonly path: string;
  readonly bytes: number;
  /** Whether it was there before, with the same content. */
  readonly unchanged: boolean;
}

/** Which files of a revision are wanted, beside those of its table and of errors. */
export interface WantedFiles {
  readonly revisionId: string;
  readonly includeGivens: boolean;
  readonly includeTraces: boolean;
  /** Names of those of them that are wanted; default: all. */
  readonly names?: readonly string[];
}

/**
 * Downloads files of a revision into a folder, which is made if need be, and returns them by name.
 * Rejects with a CliError; files that were complete by then stay.
 */
export async function downloadRevision(
  context: Context,
  { names, ...wanted }: WantedFiles,
  folder: string,
): Promise<readonly DownloadedFile[]> {
  const { api, progress, signal } = context;
  const service = await api.datasets();
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw fromSystem(error, `make ${folder}`) ?? error;
  });
  const taken = new Map<string, string>();
  return progress.step("Downloading", async (say) => {
    const received = new Map<string, number>();
    const show = (name: string, bytes: number): void => {
      received.set(name, bytes);
      say(`${sizeText([...received.values()].reduce((sum, of) => sum + of, 0))}, ${received.size} files`);
    };
    const stopped = new AbortController();
    const links = linksOf(service.streamDatasetLinks(wanted, { signal: AbortSignal.any([signal, stopped.signal]) }), names);
    const downloaded = async (found: DatasetLink): Promise<DownloadedFile> => {
      const name = localName(found.file?.name ?? "");
      const other = taken.get(name.toLowerCase());
      if (other !== undefined)
        throw new CliError(`two files of the revision have the name ${escapeControls(name)} on this machine`, { code: "unsafe_name" });
      taken.set(name.toLowerCase(), name);
      return downloadOne(context, found, folder, name, (bytes) => show(name, bytes));
    };
    const files = await atOnce(links, CONCURRENT, downloaded, () => stopped.abort());
    return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
  });
}

/** The links of a stream, or those of files with some names. */
export async function* linksOf(
  messages: AsyncIterable<{ readonly link?: DatasetLink | undefined }>,
  names?: readonly string[],
): AsyncIterable<DatasetLink> {
  for await (const { link: found } of messages) if (found && (names?.includes(found.file?.name ?? "") ?? true)) yield found;
}

async function downloadOne(
  { http }: Pick<Context, "http">,
  { file, url }: DatasetLink,
  folder: string,
  name: string,
  onReceived: (bytes: number) => void,
): Promise<DownloadedFile> {
  const { sha256 = "", bytes: announced = 0n } = file ?? {};
  const bytes = Number(announced);
  const path = join(folder, name);
  if (await isThere(path)) {
    if (await hasContent(path, bytes, sha256)) return { path, bytes, unchanged: true };
    throw exists(path);
  }
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new CliError("the server named a file without its digest", { code: "broken_answer" });
  const partial = join(folder, partialName(name, sha256));
  await http.downloadFile(url, { path: partial, bytes, sha256, onReceived });
  await place(partial, path);
  return { path, bytes, unchanged: false };
}

/**
 * The name on this machine of a file that the server names: without folders. Throws a CliError for
 * one that would be no plain file here.
 */
export function localName(given: string): string {
  const name = given.split(/[/\\]/).at(-1) ?? "";
  const isBad = name === "" || name === "." || name === ".." || escapeControls(name) !== name;
  if (isBad || Buffer.byteLength(name) > 255 || !isPortableName(name))
    throw new CliError(`the server names a file ${JSON.stringify(escapeControls(given.slice(0, 100)))}, which is no name for a file here`, {
      code: "unsafe_name",
      hint: "Nothing was written for it. `svc dataset stream-links` shows the addresses of the files.",
    });
  return name;
}

/** The name of what has come of a file so far: the same in the next run, and of that file alone. */
export function partialName(name: string, sha256: string): string {
  return `.${new Bun.CryptoHasher("sha256").update(`${name}\n${sha256}`).digest("hex").slice(0, 24)}.svc-part`;
}

/** Gives a complete file its name, unless that is taken. */
async function place(partial: string, path: string): Promise<void> {
  try {
    await link(partial, path);
    await rm(partial, { force: true });
  } catch (error) {
    if (systemCode(error) === "EEXIST") throw exists(path);
    if (await isThere(path)) throw exists(path);
    await renameInPlace(partial, path).catch((failed: unknown) => {
      throw fromSystem(failed, `write ${path}`) ?? failed;
    });
  }
}

function exists(path: string): CliError {
  return new CliError(`${path} exists already, with other content`, {
    code: "exists",
    hint: "Remove it, or name another folder with --output-dir.",
  });
}

/** Whether anything has a name: a symbolic link counts, wherever it leads. */
async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Whether a path is a regular file with this content. */
async function hasContent(path: string, bytes: number, sha256: string): Promise<boolean> {
  const found = await lstat(path);
  return found.isFile() && found.size === bytes && (await fileHash(path)) === sha256;
}
