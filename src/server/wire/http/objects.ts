/**
 * `PUT` and `GET /v1/objects/<sha256>?op&size&expires&signature`: uploads and downloads by signed addresses, which need no token. The signature covers everything
 * that the address says, so that it opens one object for one purpose until it ends.
 */

import type { Clock } from "../../../context/clock.ts";
import { equalInConstantTime, sign } from "../../access/secrets.ts";
import { ObjectMismatch } from "../../stores/objects/store.ts";
import type { Platform } from "../platform.ts";
import { jsonError, methodNotAllowed } from "./respond.ts";

/** Largest object that may be uploaded: 128 MiB. */
export const MAX_OBJECT_BYTES = 128 * 1024 * 1024;

/** Milliseconds that a signed address is good for. */
export const ADDRESS_LIFETIME_MS = 900_000;

/** What an address is for. */
export type ObjectOperation = "put" | "get";

/** Signs addresses and checks them. */
export interface ObjectAddresses {
  /** An address relative to the server, and when it ends. */
  sign(operation: ObjectOperation, sha256: string, size: number): { readonly url: string; readonly expiresAt: number };
  /** What an address says, or why it is refused. */
  check(url: URL): { readonly operation: ObjectOperation; readonly sha256: string; readonly size: number } | { readonly refused: string };
}

const PREFIX = "/v1/objects/";
const STALL_MS = 30_000;
/** Headers of an answer to an upload that may still be sent. */
const HALF_READ = { connection: "close" };

/** Makes the addresses of a server. */
export function createObjectAddresses(options: { readonly key: Uint8Array; readonly clock: Clock }): ObjectAddresses {
  const { key, clock } = options;
  const signatureOf = (operation: string, sha256: string, size: string, expires: string) => sign(key, [operation, sha256, size, expires]);
  return {
    sign(operation, sha256, size) {
      const expiresAt = clock.now() + ADDRESS_LIFETIME_MS;
      const query = new URLSearchParams({
        op: operation,
        size: String(size),
        expires: String(expiresAt),
        signature: signatureOf(operation, sha256, String(size), String(expiresAt)),
      });
      return { url: `${PREFIX}${sha256}?${query}`, expiresAt };
    },
    check(url) {
      const sha256 = url.pathname.slice(PREFIX.length);
      const given = (name: string) => url.searchParams.get(name) ?? "";
      const expected = signatureOf(given("op"), sha256, given("size"), given("expires"));
      if (!equalInConstantTime(given("signature"), expected)) return { refused: "The address is not signed by this server." };
      if (Number(given("expires")) <= clock.now()) return { refused: "The address has expired. Ask for a new one." };
      return { operation: given("op") as ObjectOperation, sha256, size: Number(given("size")) };
    },
  };
}

/** Serves one signed address. */
export async function serveObject(platform: Platform, request: Request, url: URL): Promise<Response> {
  const address = platform.addresses.check(url);
  if ("refused" in address) return jsonError(403, "address_refused", address.refused);
  const operation = request.method === "PUT" ? "put" : request.method === "GET" || request.method === "HEAD" ? "get" : undefined;
  if (operation === undefined) return methodNotAllowed("GET, HEAD, PUT");
  if (operation !== address.operation) return jsonError(403, "address_refused", `The address is for ${address.operation.toUpperCase()}.`);
  return operation === "put" ? receive(platform, request, address) : send(platform, request, address.sha256);
}

async function receive(platform: Platform, request: Request, { sha256, size }: { sha256: string; size: number }): Promise<Response> {
  const announced = request.headers.get("content-length");
  if (announced !== null && Number(announced) !== size) {
    return jsonError(400, "size_mismatch", `The upload was announced with ${size} bytes, and this request has ${announced}.`);
  }
  try {
    await platform.objects.put(sha256, size, request.body ? unstalled(request.body) : nothing());
  } catch (error) {
    if (error instanceof ObjectMismatch)
      return jsonError(400, "content_mismatch", `Nothing was kept: ${error.message}. Upload it again.`, HALF_READ);
    if (error instanceof StalledUpload)
      return jsonError(408, "upload_stalled", "Nothing was kept: the upload stopped halfway. Upload it again.", HALF_READ);
    throw error;
  }
  return new Response(null, { status: 201, headers: { etag: `"${sha256}"`, "cache-control": "no-store" } });
}

async function send(platform: Platform, request: Request, sha256: string): Promise<Response> {
  const size = await platform.objects.size(sha256);
  if (size === undefined) return jsonError(404, "not_found", "There is no such object.");
  const headers: Record<string, string> = {
    "content-type": "application/octet-stream",
    "content-disposition": "attachment",
    "accept-ranges": "bytes",
    "cache-control": "private, no-store",
    "x-content-type-options": "nosniff",
    etag: `"${sha256}"`,
  };
  const range = parseRange(request.headers.get("range"), size);
  if (range === "unsatisfiable") {
    return jsonError(416, "range_not_satisfiable", `The object has ${size} bytes.`, { "content-range": `bytes */${size}` });
  }
  const { start, end } = range ?? { start: 0, end: size };
  headers["content-length"] = String(end - start);
  if (range) headers["content-range"] = `bytes ${start}-${end - 1}/${size}`;
  return new Response(request.method === "HEAD" ? null : platform.objects.slice(sha256, start, end), {
    status: range ? 206 : 200,
    headers,
  });
}

/** Reads a single byte range (RFC 9110 section 14). Several ranges and other units are answered with the whole. `end` is exclusive. */
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
