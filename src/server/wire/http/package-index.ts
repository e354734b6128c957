/**
 * The index of Python packages of a release mirror (PEP 503, and PEP 691 for its JSON), so that
 * `pip install --index-url http://<mirror>/simple svc` installs the wheels of its releases. They
 * are served beside the binaries, and their hashes are those of each release's signed sums.
 */

import { escapeHtml } from "../../../domain/html.ts";
import { REQUIRES_PYTHON } from "../../../python/runtime.ts";
import { jsonError, methodNotAllowed, SAFE_HEADERS } from "./respond.ts";

/** A wheel of a release. */
export interface IndexedWheel {
  readonly name: string;
  /** As wheels have it: `0.1.0`. */
  readonly version: string;
  /** Path on the mirror. */
  readonly path: string;
  /** Lower-case hex. */
  readonly sha256: string;
  readonly size: number;
  /** RFC 3339. */
  readonly publishedAt: string;
}

const PROJECT = "svc";
const JSON_TYPE = "application/vnd.pypi.simple.v1+json";
const HTML_TYPES = ["application/vnd.pypi.simple.v1+html", "text/html"];

/** Whether the index has a path; with or without the slash at its end. */
export function isIndexPath(path: string): boolean {
  return /^\/simple(?:\/|$)/.test(path);
}

/** The wheel that the sums of a release name; undefined when it has none. */
export function wheelOf(sums: string): Pick<IndexedWheel, "name" | "sha256" | "version"> | undefined {
  const [, sha256, name, version] = /^([0-9a-f]{64}) [ *](svc-([0-9][0-9a-z.]*)-py3-none-any\.whl)$/m.exec(sums) ?? [];
  return sha256 && name && version ? { sha256, name, version } : undefined;
}

/** Answers a request for a page of the index. */
export async function servePackageIndex(request: Request, url: URL, wheels: () => Promise<readonly IndexedWheel[]>): Promise<Response> {
  if (request.method !== "GET" && request.method !== "HEAD") return methodNotAllowed("GET, HEAD");
  const [, project, ...more] = url.pathname.replace(/\/$/, "").slice(1).split("/");
  if (more.length > 0 || (project !== undefined && project.toLowerCase() !== PROJECT))
    return jsonError(404, "not_found", `This mirror has no package ${project}: it has ${PROJECT} alone.`);
  const wanted = project === undefined ? "/simple/" : `/simple/${PROJECT}/`;
  if (url.pathname !== wanted) return new Response(null, { status: 301, headers: { ...SAFE_HEADERS, location: wanted } });
  const type = contentType(request.headers.get("accept"));
  const found = project === undefined ? undefined : await wheels();
  const text = type === JSON_TYPE ? JSON.stringify(found ? projectJson(found) : listJson()) : found ? projectHtml(found) : listHtml();
  const headers = {
    ...SAFE_HEADERS,
    "content-type": type === JSON_TYPE ? type : `${type}; charset=utf-8`,
    "cache-control": "no-cache",
    "content-length": String(Buffer.byteLength(text)),
    vary: "accept",
  };
  return new Response(request.method === "HEAD" ? null : text, { headers });
}

/**
 * The type that the caller likes best; HTML, which every installer reads, where it does not say.
 */
function contentType(accept: string | null): string {
  let best = { type: "text/html", weight: 0 };
  for (const part of accept?.split(",") ?? []) {
    const [type = "", ...options] = part
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/);
    const weight = Number(options.find((option) => option.startsWith("q="))?.slice(2) ?? 1);
    if (weight > best.weight && (type === JSON_TYPE || HTML_TYPES.includes(type))) best = { type, weight };
  }
  return best.type;
}

const META = { "api-version": "1.1" };

function listJson(): unknown {
  return { meta: META, projects: [{ name: PROJECT }] };
}

function projectJson(wheels: readonly IndexedWheel[]): unknown {
  return {
    meta: META,
    name: PROJECT,
    versions: wheels.map(({ version }) => version),
    files: wheels.map(({ name, path, publishedAt, sha256, size }) => ({
      filename: name,
      url: `../..${path}`,
      hashes: { sha256 },
      "requires-python": REQUIRES_PYTHON,
      size,
      "upload-time": publishedAt,
    })),
  };
}

function listHtml(): string {
  return page("Packages", `<a href="${PROJECT}/">${PROJECT}</a>`);
}

function projectHtml(wheels: readonly IndexedWheel[]): string {
  const links = wheels.map(
    ({ name, path, sha256 }) =>
      `<a href="${escapeHtml(`../..${path}#sha256=${sha256}`)}" data-requires-python="${escapeHtml(REQUIRES_PYTHON)}">${escapeHtml(name)}</a><br>`,
  );
  return page(PROJECT, links.join("\n"));
}

function page(title: string, body: string): string {
  const head = `<meta charset="utf-8"><meta name="pypi:repository-version" content="${META["api-version"]}"><title>${title}</title>`;
  return `<!DOCTYPE html>\n<html><head>${head}</head>\n<body>\n${body}\n</body></html>\n`;
}
