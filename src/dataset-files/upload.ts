/**
 * Uploading files as a revision: announced with their digests, sent in parts that the server does
 * not have yet, and finalized. The same again goes on where it was cut off.
 */

import { lstat, stat } from "node:fs/promises";
import { basename } from "node:path";
import type { FinalizeDatasetUploadResponse } from "../../gen/svc/v1/dataset_pb.ts";
import type { Context } from "../context/context.ts";
import { fileHash } from "../disk/file-hash.ts";
import { sizeText } from "../domain/size.ts";
import { CliError, isUnanswered } from "../errors/cli-error.ts";
import { fromSystem } from "../errors/from-system.ts";
import { atOnce } from "./at-once.ts";

/** Parts that are sent at once. */
const CONCURRENT = 4;
/** Longest time that the server may take to put the files together, and times that it is asked. */
const FINALIZE_TIMEOUT_MS = 3_600_000;
const FINALIZE_TRIES = 5;

/** Files of this machine that become a revision. */
export interface FilesToUpload {
  /** Name of the dataset. */
  readonly dataset: string;
  /** Absolute paths. */
  readonly paths: readonly string[];
  /** Wanted bytes of a part; 0 = the server chooses. */
  readonly partBytes: number;
}

/** A file of this machine. */
interface LocalFile {
  readonly path: string;
  readonly name: string;
  readonly bytes: number;
}

/** A part of a file, by positions from 0. */
interface Part {
  readonly file: number;
  readonly part: number;
}

/** Uploads files. Rejects with a CliError; what has arrived is not sent again by the next call. */
export async function uploadFiles(context: Context, { dataset, paths, partBytes }: FilesToUpload): Promise<FinalizeDatasetUploadResponse> {
  const { api, progress, signal } = context;
  const files = await Promise.all(paths.map(localFile));
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const service = await api.datasets();
  const announced = await progress.step(`Reading ${counted(files.length)}, ${sizeText(total)}`, async (say) => {
    let read = 0;
    const digests: { name: string; bytes: bigint; sha256: string }[] = [];
    for (const file of files) {
      const sha256 = await digestOf(file, (bytes) => {
        signal.throwIfAborted();
        read += bytes;
        say(`${Math.floor((100 * read) / Math.max(total, 1))}%`);
      });
      digests.push({ name: file.name, bytes: BigInt(file.bytes), sha256 });
    }
    return digests;
  });
  const upload = await service.createDatasetUpload({ datasetName: dataset, files: announced, partBytes: BigInt(partBytes) });
  const size = Number(upload.partBytes);
  if (!(size > 0)) throw new CliError("the server named no length of parts", { code: "broken_answer" });
  try {
    await progress.step("Uploading", async (say) => {
      let [sent, kept] = [0, 0];
      const inFlight = new Map<Part, number>();
      const show = (): void => {
        const done = sent + kept + [...inFlight.values()].reduce((sum, bytes) => sum + bytes, 0);
        const before = kept === 0 ? "" : ` (${sizeText(kept)} had arrived before)`;
        say(`${Math.floor((100 * done) / total)}% of ${sizeText(total)}${before}`);
      };
      await atOnce(partsOf(files, size), CONCURRENT, async (part) => {
        signal.throwIfAborted();
        const file = files[part.file] as LocalFile;
        const bytes = await readPart(file, part.part * size, size);
        const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
        const { uris } = await service.getDatasetUploadUris({ uploadId: upload.uploadId, parts: [{ ...part, sha256 }] });
        const [uri] = uris;
        if (!uri) throw new CliError("the server named no address for a part", { code: "broken_answer" });
        if (uri.complete) kept += bytes.length;
        else {
          await context.http.upload(uri.url, bytes, (so) => {
            inFlight.set(part, so);
            show();
          });
          inFlight.delete(part);
          sent += bytes.length;
        }
        show();
      });
    });
    return await progress.step("Checking the files on the server", () => finalized(context, upload.uploadId));
  } catch (error) {
    if (signal.aborted || isUnanswered(error)) progress.note("Run the same command again to go on: parts that arrived are not sent again.");
    throw error;
  }
}

/** Finalizes an upload, and asks again when no answer came: the same upload is finalized once. */
async function finalized({ api }: Context, uploadId: string): Promise<FinalizeDatasetUploadResponse> {
  const service = await api.datasets();
  for (let tried = 1; ; tried++) {
    try {
      return await service.finalizeDatasetUpload({ uploadId }, { timeoutMs: FINALIZE_TIMEOUT_MS });
    } catch (error) {
      if (tried >= FINALIZE_TRIES || !isUnanswered(error)) throw error;
    }
  }
}

async function localFile(path: string): Promise<LocalFile> {
  const found = await stat(path).catch(async (error: unknown) => {
    const isDangling = await lstat(path).then(
      () => true,
      () => false,
    );
    if (isDangling) throw new CliError(`${path} is a link to nothing`, { code: "file_unreadable" });
    throw fromSystem(error, `read ${path}`) ?? error;
  });
  if (!found.isFile())
    throw new CliError(`${path} is no file`, {
      code: "file_unreadable",
      hint: "Name the files of a folder one by one, as with `folder/*`.",
    });
  return { path, name: basename(path), bytes: found.size };
}

async function digestOf({ path }: LocalFile, onRead: (bytes: number) => void): Promise<string> {
  return fileHash(path, onRead).catch((error: unknown) => {
    throw fromSystem(error, `read ${path}`) ?? error;
  });
}

async function readPart({ path, bytes }: LocalFile, start: number, size: number): Promise<Uint8Array> {
  const end = Math.min(start + size, bytes);
  const part = await Bun.file(path)
    .slice(start, end)
    .bytes()
    .catch((error: unknown) => {
      throw fromSystem(error, `read ${path}`) ?? error;
    });
  if (part.length !== end - start)
    throw new CliError(`${path} changed while it was uploaded`, { code: "file_changed", hint: "Try again." });
  return part;
}

function* partsOf(files: readonly LocalFile[], size: number): Iterable<Part> {
  for (const [file, { bytes }] of files.entries()) for (let part = 0; part * size < bytes; part++) yield { file, part };
}

function counted(files: number): string {
  return `${files} file${files === 1 ? "" : "s"}`;
}
