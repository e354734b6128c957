/**
 * The addresses that are no calls: the dashboard's document at each of its pages, and its files.
 * The document holds no data; its script asks for it with both halves of a browser session. Pages
 * that are made by the server itself, those of logging in, are in `ui`.
 */

import { type PageName, placeOf } from "../../domain/addresses.ts";
import { PAGE_KEY_HEADER } from "../access/browser-sessions.ts";
import { escapeHtml } from "../ui/html.ts";
import { servePage as serveOwnPage } from "../ui/pages.ts";
import type { CallNote } from "../wire/call-audit.ts";
import { errorAnswer, methodNotAllowed, SAFE_HEADERS } from "../wire/http/respond.ts";
import type { Platform } from "../wire/platform.ts";
import { fileResponse, type PageFile, pageFile, pageFiles } from "./files.ts";

/**
 * Only this server's own files, no inline script or style, no framing, and no script made from
 * text.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const FILE_HEADERS = {
  ...SAFE_HEADERS,
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin",
};
const DOCUMENT_HEADERS = { ...FILE_HEADERS, "cache-control": "no-cache" };
/** An asset's name changes with its content. */
const ASSET_HEADERS = { ...FILE_HEADERS, "cache-control": "public, max-age=31536000, immutable" };

/** Pages that the server makes, and answers requests with. */
const MADE_HERE: ReadonlySet<PageName> = new Set<PageName>(["entry", "login"]);

/**
 * Answers a request for a page or a file of one. Errors are JSON for clients that do not accept
 * HTML.
 */
export async function servePage(platform: Platform, request: Request, url: URL, note?: CallNote): Promise<Response> {
  const path = url.pathname;
  const page = placeOf(path + url.search)?.page;
  if (platform.headless || path.startsWith("/assets/") || (page && MADE_HERE.has(page))) return serveOwnPage(platform, request, url, note);
  const { assets } = await pageFiles();
  const asset = assets.get(path);
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (!isRead && (page || asset)) return methodNotAllowed("GET, HEAD");
  if (asset) return fileResponse(asset, request.headers, ASSET_HEADERS);
  if (!page && !readsPages(request.headers)) return errorAnswer({ status: 404, message: "There is no page at this address." });
  return fileResponse(await documentOf(platform), request.headers, DOCUMENT_HEADERS, page ? 200 : 404);
}

function readsPages(headers: Headers): boolean {
  return headers.has(PAGE_KEY_HEADER) || /\btext\/html\b/i.test(headers.get("accept") ?? "");
}

const documents = new WeakMap<Platform, Promise<PageFile>>();

/** The document, with the name of the identity provider where one can log in at one. */
function documentOf(platform: Platform): Promise<PageFile> {
  const made = documents.get(platform) ?? makeDocument(platform.oidc?.host);
  documents.set(platform, made);
  return made;
}

async function makeDocument(providerHost: string | undefined): Promise<PageFile> {
  const { document } = await pageFiles();
  if (providerHost === undefined) return document;
  const text = new TextDecoder()
    .decode(document.bytes)
    .replace('<html lang="en"', `<html lang="en" data-provider="${escapeHtml(providerHost)}"`);
  return pageFile({ name: "index.html", bytes: new TextEncoder().encode(text) });
}
