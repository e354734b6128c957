/**
 * `PUT` and `GET /v1/objects/<key>`: uploads and downloads by signed addresses, which need no
 * token.
 */

import { DATASET_OBJECTS } from "../../datasets/dataset-objects.ts";
import { type CheckedAddress, ObjectMismatch } from "../../stores/objects/store.ts";
import type { CallNote } from "../call-audit.ts";
import type { Platform } from "../platform.ts";
import { jsonError, methodNotAllowed } from "./respond.ts";

const STALL_MS = 30_000;
/** Headers of an answer to an upload that may not have been read to its end. */
const HALF_READ = { connection: "close" };

const NO_OBJECT = "There is no such object.";

/** The object and operation that a valid address names. */
type AddressedObject = Exclude<CheckedAddress, { readonly refused: string }>;

/** Answers a request to a signed address. */
export async function serveObject(platform: Platform, request: Request, url: URL, note: CallNote = {}): Promise<Response> {
  const { addresses } = platform.objects;
  if (!addresses) return jsonError(404, "not_found", "This server's objects are elsewhere.");
  const address = addresses.check(url);
  if ("refused" in address) return jsonError(403, "address_refused", address.refused);
  const operation = request.method === "PUT" ? "put" : request.method === "GET" || request.method === "HEAD" ? "get" : undefined;
  if (operation === undefined) return methodNotAllowed("GET, HEAD, PUT");
  if (operation !== address.operation) return jsonError(403, "address_refused", `The address is for ${address.operation.toUpperCase()}.`);
  const named = address.key.startsWith(DATASET_OBJECTS) ? await datasetFileName(platform, address) : "";
  if (named === undefined)
    return jsonError(403, "address_refused", "The address is of a revision that cannot be read or written any more.");
  note.isVouched = true;
  note.about = { object: address.key };
  return operation === "put" ? receive(platform, request, address) : send(platform, request, address.key, named);
}

/**
 * The name of a file of a dataset; empty for a part of an upload, undefined when the object is
 * neither read nor written any more.
 */
async function datasetFileName(platform: Platform, { key, operation }: AddressedObject): Promise<string | undefined> {
  const { datasets } = await platform.datasets();
  if (operation === "get") return datasets.nameOf(key);
  return (await datasets.takesPart(key)) ? "" : undefined;
}

/** The SHA-256 of an object that is named by it: its key is the digest, or ends with `.` and it. */
function digestIn(key: string): string | undefined {
  return /(?:^|\.)([0-9a-f]{64})$/.exec(key)?.[1];
}

async function receive(platform: Platform, request: Request, { key, size }: AddressedObject): Promise<Response> {
  const announced = request.headers.get("content-length");
  if (announced !== null && Number(announced) !== size) {
    return jsonError(400, "size_mismatch", `The upload was announced with ${size} bytes, and this request has ${announced}.`);
  }
  const ifAbsent = request.headers.get("if-none-match") === "*";
  const sha256 = digestIn(key);
  try {
    const body = request.body ? unstalled(request.body) : nothing();
    const taken = await platform.objects.put(key, body, { size, ifAbsent, ...(sha256 !== undefined && { sha256 }) });
    if (!taken) return jsonError(412, "object_exists", "There is an object already, and it stays.", HALF_READ);
    return new Response(null, { status: 201, headers: { etag: `"${taken.sha256}"`, "cache-control": "no-store" } });
  } catch (error) {
    if (error instanceof ObjectMismatch)
      return jsonError(400, "content_mismatch", `Nothing was kept: ${error.message}. Upload it again.`, HALF_READ);
    if (error instanceof StalledUpload)
      return jsonError(408, "upload_stalled", "Nothing was kept: the upload stopped halfway. Upload it again.", HALF_READ);
    throw error;
  }
}

async function send(platform: Platform, request: Request, key: string, name: string): Promise<Response> {
  const size = await platform.objects.size(key);
  if (size === undefined) return jsonError(404, "not_found", NO_OBJECT);
  const digest = digestIn(key);
  const etag = digest === undefined ? undefined : `"${digest}"`;
  const headers: Record<string, string> = {
    "content-type": "application/octet-stream",
    "content-disposition": name === "" ? "attachment" : `attachment; ${fileNameOf(name)}`,
    "accept-ranges": "bytes",
    "cache-control": "private, no-store",
    "x-content-type-options": "nosniff",
    ...(etag !== undefined && { etag }),
  };
  const ifRange = request.headers.get("if-range");
  const range = ifRange === null || ifRange === etag ? parseRange(request.headers.get("range"), size) : undefined;
  if (range === "unsatisfiable") {
    return jsonError(416, "range_not_satisfiable", `The object has ${size} bytes.`, { "content-range": `bytes */${size}` });
  }
  const { start, end } = range ?? { start: 0, end: size };
  headers["content-length"] = String(end - start);
  if (range) headers["content-range"] = `bytes ${start}-${end - 1}/${size}`;
  const body = request.method === "HEAD" ? null : await platform.objects.get(key, { start, end });
  if (body === undefined) return jsonError(404, "not_found", NO_OBJECT);
  return new Response(body, { status: range ? 206 : 200, headers });
}

/** The parameters that name a file (RFC 6266): one for all programs, and the name as it is. */
function fileNameOf(name: string): string {
  const encoded = encodeURIComponent(name).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  return `filename="${name.replace(/[^\x20-\x7e]|["\\%]/g, "_")}"; filename*=UTF-8''${encoded}`;
}

/**
 * Reads a single byte range (RFC 9110 section 14). Several ranges and other units are answered with
 * the whole. `end` is exclusive.
 */
function parseRange(header: string | null, size: number): { start: number; end: number } | "unsatisfiable" | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? "");
  if (!match || (match[1] === "" && match[2] === "")) return undefined;
  if (match[1] === "") {
    const length = Math.min(Number(match[2]), size);
    return length === 0 ? "unsatisfiable" : { start: size - length, end: size };
  }
  const start = Number(match[1]);
  const last = match[2] === "" ? size - 1 : Math.min(Number(match[2]), size - 1);
  if (match[2] !== "" && Number(match[2]) < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, end: last + 1 };
}

class StalledUpload extends Error {}

async function* unstalled(body: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const stalled = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new StalledUpload("the upload stalled")), STALL_MS);
      });
      const { done, value } = await Promise.race([reader.read(), stalled]).finally(() => clearTimeout(timer));
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

async function* nothing(): AsyncIterable<Uint8Array> {}
