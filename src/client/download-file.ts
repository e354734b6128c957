/**
 * Downloads of large files from signed addresses, which go on where they were cut off. What has
 * come stays in the file, so that the same call later asks for the rest alone.
 */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { CliError } from "../errors/cli-error.ts";
import { fromSystem } from "../errors/from-system.ts";
import type { WantedFile } from "./api.ts";
import type { Connection } from "./connection.ts";
import { transientCall } from "./failure.ts";
import { type Endpoint, networkFailure, readBody, transientNetwork } from "./fetch.ts";
import { objectEndpoint, refusal } from "./objects.ts";
import { plainFetch } from "./plain.ts";

/** Longest time of one request: one that takes longer is cut off, and goes on with another. */
const REQUEST_TIMEOUT_MS = 300_000;
const MAX_REFUSAL_BYTES = 1024 * 1024;

/**
 * GETs a file and checks it. Rejects with a CliError, `damaged_download` when the bytes are not
 * those that were announced; the file is then emptied.
 */
export async function downloadFile(connection: Connection, url: string, wanted: WantedFile): Promise<void> {
  const { path, bytes, sha256, onReceived = () => undefined } = wanted;
  const endpoint = await objectEndpoint(connection, url);
  const file = await openPartial(path);
  try {
    let received = Math.min((await file.stat()).size, bytes);
    await file.truncate(received);
    let hasher = await hashed(path, received);
    const restart = async (): Promise<void> => {
      await file.truncate(0);
      received = 0;
      hasher = new Bun.CryptoHasher("sha256");
    };
    const attempt = async (): Promise<void> => {
      onReceived(received);
      if (received === bytes) return;
      const headers = new Headers({ "accept-encoding": "identity" });
      if (received > 0) {
        headers.set("range", `bytes=${received}-`);
        headers.set("if-range", `"${sha256}"`);
      }
      const request = { method: "GET", url: endpoint.address, headers, timeoutMs: REQUEST_TIMEOUT_MS, followRedirects: true } as const;
      const response = await plainFetch(connection.fetch, endpoint, request);
      if (!response.ok) {
        const body = await readBody(response, endpoint, request, MAX_REFUSAL_BYTES);
        throw refusal(response, body, endpoint, connection, "download");
      }
      if (received > 0 && !continuesAt(response, received)) await restart();
      const chunks = (response.body ?? new Blob().stream())[Symbol.asyncIterator]();
      for (;;) {
        const { done, value } = await chunks.next().catch((error: unknown) => {
          throw networkFailure(error, endpoint, request);
        });
        if (done) break;
        if (received + value.length > bytes) throw tooLong(endpoint);
        await file.write(value, 0, value.length, received);
        hasher.update(value);
        received += value.length;
        onReceived(received);
      }
      if (received < bytes) throw networkFailure(Object.assign(new Error("cut off"), { code: "ECONNRESET" }), endpoint, request);
    };
    for (let isResumed = received > 0; ; isResumed = false) {
      await persistently(connection, attempt, () => received);
      if (hasher.digest("hex") === sha256) break;
      await restart();
      if (!isResumed)
        throw new CliError(`what ${endpoint.url} sent is not the file that it announced: its SHA-256 differs`, {
          code: "damaged_download",
          hint: "Try again; if it stays so, the file is damaged in the server's object store.",
        });
    }
    await file.sync();
  } catch (error) {
    throw fromSystem(error, `write ${path}`) ?? error;
  } finally {
    await file.close();
  }
}

/** Runs an attempt again as long as each gets further than the one before. */
async function persistently({ retry }: Connection, attempt: () => Promise<void>, reached: () => number): Promise<void> {
  for (;;) {
    const before = reached();
    try {
      return await retry.run(true, attempt, (error) => transientNetwork(error) ?? transientCall(error));
    } catch (error) {
      if (!transientNetwork(error) || reached() <= before) throw error;
    }
  }
}

/** Opens a file that holds part of a download, and never through a symbolic link. */
function openPartial(path: string): Promise<FileHandle> {
  return open(path, constants.O_RDWR | constants.O_CREAT | (constants.O_NOFOLLOW ?? 0), 0o666);
}

/** The hasher of a file's first bytes. */
async function hashed(path: string, bytes: number): Promise<Bun.CryptoHasher> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).slice(0, bytes).stream()) hasher.update(chunk);
  return hasher;
}

/** Whether an answer is the rest from an offset on; otherwise it is the whole. */
function continuesAt(response: Response, offset: number): boolean {
  return response.status === 206 && (response.headers.get("content-range") ?? "").startsWith(`bytes ${offset}-`);
}

function tooLong(endpoint: Endpoint): CliError {
  return new CliError(`${endpoint.url} sent more bytes than the file that it announced has`, {
    code: "damaged_download",
    hint: "Try again.",
  });
}
