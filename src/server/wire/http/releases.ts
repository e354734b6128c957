/**
 * The release mirror: a folder of releases, served as a release host serves them, so that machines
 * without internet access install and update from here, and pip and npm find the clients. Clients
 * check signatures, so these files are open to everyone who can connect; nothing else is.
 */

import { constants, readFileSync } from "node:fs";
import { access, readFile, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { systemWords } from "../../../disk/disk-error.ts";
import { parseFeed, parseManifest, ReleaseFormatError, type ReleaseManifest } from "../../../domain/release/manifest.ts";
import { NO_BUILD_FOR_386 } from "../../../domain/release/no-build.ts";
import { StartError } from "../../failure.ts";
import { isEncrypted } from "./forwarded.ts";
import { type IndexedWheel, isIndexPath, servePackageIndex, wheelOf } from "./package-index.ts";
import { jsonError, methodNotAllowed, SAFE_HEADERS } from "./respond.ts";

const AT_THE_ROOT = /^(?:install\.(?:sh|ps1)|changelog\.md|index\.json(?:\.minisig)?)$/;
/**
 * Files of one release: signed lists and build outputs. Keys and other files beside them have other
 * names.
 */
const OF_A_RELEASE = /^(?:(?:manifest\.json|SHA256SUMS)(?:\.minisig)?|install\.(?:sh|ps1)|svc[A-Za-z0-9._-]*)$/;
const BINARY = /^svc-([a-z0-9]+-[a-z0-9-]+?)(?:\.exe)?(?:\.(?:zst|gz))?$/;

const TYPES: Readonly<Record<string, string>> = {
  json: "application/json",
  md: "text/markdown; charset=utf-8",
  sh: "text/plain; charset=utf-8",
  ps1: "text/plain; charset=utf-8",
  minisig: "text/plain; charset=utf-8",
  SHA256SUMS: "text/plain; charset=utf-8",
  zst: "application/zstd",
  gz: "application/gzip",
  zip: "application/zip",
  whl: "application/zip",
  tgz: "application/gzip",
};

/** The line of `install.sh` or `install.ps1` that names the host to install from. */
const BASE_LINE = /^([ \t]*\$?Base_?Url[ \t]*=[ \t]*)(?:"[^"\r\n]*"|'[^'\r\n]*')/im;

/** A folder of releases that is served. */
export interface ReleaseMirror {
  /** Whether the mirror serves a path; all others belong to the platform. */
  has(path: string): boolean;
  /**
   * Answers a request for a file of the folder. Only names that a release host has are looked up,
   * so that no path leads out of the folder, and links out of it are not followed.
   */
  serve(request: Request, url: URL): Promise<Response>;
}

/**
 * Opens a folder of releases. Throws StartError "releases_unusable" when it has no usable index or
 * no release.
 */
export function openReleaseMirror(folder: string): ReleaseMirror {
  checkFolder(folder);
  const wheels = rememberedWheels(folder);
  return {
    has: (path) => /^\/(?:latest|releases)\//.test(path) || AT_THE_ROOT.test(path.slice(1)) || isIndexPath(path),
    serve: (request, url) => (isIndexPath(url.pathname) ? servePackageIndex(request, url, wheels) : serveFile(folder, request, url)),
  };
}

/**
 * Gives the wheels of all releases, newest first; they are looked for again when the feed changes.
 */
function rememberedWheels(folder: string): () => Promise<readonly IndexedWheel[]> {
  let known: { readonly tag: string | undefined; readonly wheels: Promise<readonly IndexedWheel[]> } | undefined;
  return async () => {
    const tag = (await findFile(folder, ["index.json"]))?.tag;
    if (!known || known.tag !== tag) known = { tag, wheels: wheelsIn(folder) };
    return known.wheels;
  };
}

async function wheelsIn(folder: string): Promise<readonly IndexedWheel[]> {
  const feed = await readFile(join(folder, "index.json"), "utf8")
    .then(parseFeed)
    .catch(() => undefined);
  const found: IndexedWheel[] = [];
  for (const { published_at, version } of feed?.releases ?? []) {
    const release = ["releases", version];
    const sums = await findFile(folder, [...release, "SHA256SUMS"]);
    const wheel = sums && wheelOf(await readFile(sums.path, "utf8").catch(() => ""));
    const file = wheel && (await findFile(folder, [...release, wheel.name]));
    if (file) found.push({ ...wheel, path: `/${release.join("/")}/${wheel.name}`, size: file.size, publishedAt: published_at });
  }
  return found;
}

function checkFolder(folder: string): void {
  const index = join(folder, "index.json");
  const refuse = (reason: string) =>
    new StartError(
      "releases_unusable",
      `${folder} is no folder of releases: ${reason}.`,
      "Name a copy of a release host, with its index.json, install.sh and releases/, or publish into it: bun build.ts --publish=<folder>",
    );
  let text: string;
  try {
    text = readFileSync(index, "utf8");
  } catch (error) {
    throw refuse(`its index.json cannot be read: ${systemWords(error) ?? String(error)}`);
  }
  try {
    const feed = parseFeed(text);
    if (feed.releases.length === 0) throw refuse("its index.json names no release");
  } catch (error) {
    throw error instanceof ReleaseFormatError ? refuse(`its index.json cannot be used: ${error.message}`) : error;
  }
}

async function serveFile(folder: string, request: Request, url: URL): Promise<Response> {
  if (request.method !== "GET" && request.method !== "HEAD") return methodNotAllowed("GET, HEAD");
  const parts = pathParts(url.pathname);
  if (BINARY.exec(parts?.at(-1) ?? "")?.[1] === NO_BUILD_FOR_386.target) return notBuilt(NO_BUILD_FOR_386.text, request);
  const file = parts && (await locate(folder, parts));
  if (!file) return parts ? missing(folder, parts, request) : jsonError(404, "not_found", `A release host has nothing at ${url.pathname}.`);
  const name = parts.at(-1) ?? "";
  const script =
    /^install\.(sh|ps1)$/.test(name) && parts.length === 1 ? fillBase(await readFile(file.path, "utf8"), request, url) : undefined;
  const etag = `"${script === undefined ? file.tag : Bun.hash(script).toString(16)}"`;
  const headers: Record<string, string> = { ...SAFE_HEADERS, "cache-control": "no-cache", "content-type": contentType(name), etag };
  if (matches(request.headers.get("if-none-match"), etag)) return new Response(null, { status: 304, headers });
  if (script !== undefined) {
    headers["content-length"] = String(Buffer.byteLength(script));
    return new Response(request.method === "HEAD" ? null : script, { headers: { ...headers, vary: "host" } });
  }
  headers["accept-ranges"] = "bytes";
  if (/^svc-windows-[a-z0-9]+$/.test(name)) headers["content-disposition"] = `attachment; filename="${name}.exe"`;
  if (request.method === "HEAD") return new Response(null, { headers: { ...headers, "content-length": String(file.size) } });
  return new Response(Bun.file(file.path), { headers });
}

/** The segments of a path that a release host has; undefined for any other. */
function pathParts(path: string): readonly string[] | undefined {
  const parts = path.slice(1).split("/");
  const name = parts.at(-1) ?? "";
  if (parts.length === 1) return AT_THE_ROOT.test(name) ? parts : undefined;
  if (!OF_A_RELEASE.test(name)) return undefined;
  if (parts.length === 2) return parts[0] === "latest" ? parts : undefined;
  return parts.length === 3 && parts[0] === "releases" && /^v\d+\.\d+\.\d+$/.test(parts[1] ?? "") ? parts : undefined;
}

interface Found {
  readonly path: string;
  readonly size: number;
  /** A tag that changes whenever the file is written. */
  readonly tag: string;
}

/**
 * A file of the folder; undefined when there is none. A file under `latest` is also found by the
 * index: copies made without hard links lack that folder, and it is absent while it is replaced.
 */
async function locate(folder: string, parts: readonly string[]): Promise<Found | undefined> {
  const found = await findFile(folder, parts);
  if (found || parts[0] !== "latest") return found;
  try {
    const { latest } = parseFeed(await readFile(join(folder, "index.json"), "utf8"));
    return await findFile(folder, ["releases", latest, ...parts.slice(1)]);
  } catch {
    return undefined;
  }
}

async function findFile(folder: string, parts: readonly string[]): Promise<Found | undefined> {
  try {
    const [root, path] = await Promise.all([realpath(folder), realpath(join(folder, ...parts))]);
    if (!path.startsWith(root.endsWith(sep) ? root : root + sep)) return undefined;
    await access(path, constants.R_OK);
    const found = await stat(path);
    const tag = [found.ino, found.size, Math.round(found.mtimeMs * 1000)].map((part) => part.toString(16)).join("-");
    return found.isFile() ? { path, size: found.size, tag } : undefined;
  } catch {
    return undefined;
  }
}

function contentType(name: string): string {
  return TYPES[name.slice(name.lastIndexOf(".") + 1)] ?? "application/octet-stream";
}

function matches(ifNoneMatch: string | null, etag: string): boolean {
  const tags = ifNoneMatch?.split(",").map((tag) => tag.trim().replace(/^W\//, "")) ?? [];
  return tags.includes(etag) || tags.includes("*");
}

/**
 * An install script that downloads from this mirror instead of the host it was published for. The
 * address is that of the request's Host header, if it has the form of a host; behind a TLS proxy on
 * this machine it is the proxy's.
 */
function fillBase(script: string, request: Request, url: URL): string {
  const host = request.headers.get("host") ?? url.host;
  if (!/^(?:[a-z0-9](?:[a-z0-9.-]{0,252})|\[[0-9a-f:.]{2,45}\])(?::\d{1,5})?$/i.test(host)) return script;
  return script.replace(BASE_LINE, (_line, name: string) => `${name}"${isEncrypted(request.headers) ? "https" : "http"}://${host}"`);
}

async function readManifest(folder: string, release: readonly string[]): Promise<ReleaseManifest | undefined> {
  try {
    const file = await locate(folder, [...release, "manifest.json"]);
    return file && parseManifest(await readFile(file.path, "utf8"));
  } catch {
    return undefined;
  }
}

/** The 404 for a file that does not exist; for a binary it lists the targets that do. */
async function missing(folder: string, parts: readonly string[], request: Request): Promise<Response> {
  const target = BINARY.exec(parts.at(-1) ?? "")?.[1];
  const manifest = target === undefined ? undefined : await readManifest(folder, parts.slice(0, -1));
  if (target === undefined || !manifest || manifest.targets[target])
    return jsonError(404, "not_found", `This mirror has no /${parts.join("/")}.`);
  const { version, targets } = manifest;
  const lines = [`There is no build of svc ${version} for ${target}.`, `It is built for: ${Object.keys(targets).sort().join(", ")}.`];
  return notBuilt(`${lines.join("\n")}\n`, request);
}

/** A 404 whose text is meant for people. */
function notBuilt(text: string, request: Request): Response {
  const headers = { ...SAFE_HEADERS, "content-type": "text/plain; charset=utf-8" };
  return new Response(request.method === "HEAD" ? null : text, { status: 404, headers });
}
