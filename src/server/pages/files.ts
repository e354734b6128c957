/**
 * The dashboard's files: one document, its scripts and its style. They hold no data and are given
 * to everybody whom the guard lets in. They are read with the first request for one; a program that
 * runs from its sources bundles them then.
 */

import { basename } from "node:path";
import index from "../../ui/index.html";
import { compress } from "../wire/http/content-encoding.ts";
import { SAFE_HEADERS } from "../wire/http/respond.ts";

/** A file as it is sent. */
export interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
}

/** All files. */
export interface PageFiles {
  /** The document that stands at every address of a page. */
  readonly document: PageFile;
  /** The others by their paths, whose names are made of their content. */
  readonly assets: ReadonlyMap<string, PageFile>;
}

/** A file as the bundler made it. */
interface Bundled {
  readonly name: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/**
 * Only this server's own files, no inline script or style, no framing by others, no script made
 * from text, and in frames nothing but what this server lets be framed.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "frame-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Headers of every file. */
export const FILE_HEADERS = {
  ...SAFE_HEADERS,
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
};
/** Types by the end of a file's name. */
const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  json: "application/json; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  txt: "text/plain; charset=utf-8",
};

let loaded: Promise<PageFiles> | undefined;

/** The files, read once. */
export function pageFiles(): Promise<PageFiles> {
  loaded ??= load();
  return loaded;
}

/** A file of these bytes. Throws Error for a name whose end tells no type. */
export async function pageFile({ bytes, name }: Bundled): Promise<PageFile> {
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
  if (type === undefined) throw new Error(`a file of a page without a type: ${name}`);
  const etag = `"${new Bun.CryptoHasher("sha256").update(bytes).digest("base64url")}"`;
  return { type, etag, bytes, gzipped: await compress(bytes, "gzip") };
}

/**
 * A file as the answer to a request with the headers `given`: compressed when they accept that, 304
 * when the caller has it.
 */
export function fileResponse(file: PageFile, given: Headers, own: Readonly<Record<string, string>>, status = 200): Response {
  const headers = { vary: "accept-encoding", ...own, "content-type": file.type, etag: file.etag };
  const known = given.get("if-none-match")?.split(",") ?? [];
  if (status === 200 && known.some((etag) => etag.trim().replace(/^W\//, "") === file.etag))
    return new Response(null, { status: 304, headers });
  const isGzip = /\bgzip\b(?! *; *q=0(?:\.0*)?(?:[, ]|$))/i.test(given.get("accept-encoding") ?? "");
  if (!isGzip) return new Response(file.bytes, { status, headers });
  return new Response(file.gzipped, { status, headers: { ...headers, "content-encoding": "gzip" } });
}

async function load(): Promise<PageFiles> {
  const bundled = await (index.files ? embedded(index.files) : bundledNow(index.index));
  const document = bundled.find(({ name }) => name.endsWith(".html"));
  if (!document) throw new Error("the dashboard has no document");
  const assets = bundled.filter((file) => file !== document);
  const files = assets.map(async (file) => [`/${file.name}`, await pageFile(file)] as const);
  return { document: await pageFile(document), assets: new Map(await Promise.all(files)) };
}

/** The files that the bundler put into the binary. */
function embedded(files: NonNullable<Bun.HTMLBundle["files"]>): Promise<Bundled[]> {
  return Promise.all(files.map(async ({ path }) => ({ name: basename(path), bytes: await Bun.file(path).bytes() })));
}

/** The files of a run from the sources: the same ones, not made smaller. */
async function bundledNow(document: string): Promise<Bundled[]> {
  const jsx = { runtime: "automatic", importSource: "preact", development: false } as const;
  const { outputs } = await Bun.build({ entrypoints: [document], target: "browser", splitting: true, publicPath: "/", jsx });
  return Promise.all(outputs.map(async (output) => ({ name: basename(output.path), bytes: new Uint8Array(await output.arrayBuffer()) })));
}
