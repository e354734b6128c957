/**
 * The addresses that are no calls: the dashboard's document at each of its pages, and its files.
 * The document holds no data; its script asks for it with both halves of a browser session. Pages
 * that are made by the server itself, those of logging in, are in `ui`.
 */

import { type PageName, placeOf } from "../../domain/addresses.ts";
import { escapeHtml } from "../../domain/html.ts";
import { THEME_COOKIE, type Theme, themeNamed } from "../../domain/theme.ts";
import { cookieOf, PAGE_KEY_HEADER } from "../access/browser-sessions.ts";
import { servePage as serveOwnPage } from "../ui/pages.ts";
import type { CallNote } from "../wire/call-audit.ts";
import { errorAnswer, methodNotAllowed } from "../wire/http/respond.ts";
import type { Platform } from "../wire/platform.ts";
import { pageNames } from "./baked-page-names.ts";
import { FILE_HEADERS, fileResponse, type PageFile, pageFile, pageFiles } from "./files.ts";

const DOCUMENT_HEADERS = { ...FILE_HEADERS, "cache-control": "no-cache", vary: "accept-encoding, cookie" };
/** An asset's name changes with its content. */
const ASSET_HEADERS = { ...FILE_HEADERS, "cache-control": "public, max-age=31536000, immutable" };

/** Pages that the server makes, and answers requests with. */
const MADE_HERE: ReadonlySet<PageName> = new Set<PageName>(["entry", "login"]);
/** Pages that the dashboard has. Other addresses may be known, but nothing is there yet. */
const PAGES: ReadonlySet<string> = new Set(pageNames);

/**
 * Answers a request for a page or a file of one. Errors are JSON for clients that do not accept
 * HTML.
 */
export async function servePage(platform: Platform, request: Request, url: URL, note?: CallNote): Promise<Response> {
  const path = url.pathname;
  const named = placeOf(path + url.search)?.page;
  if (platform.headless || path.startsWith("/assets/") || (named && MADE_HERE.has(named)))
    return serveOwnPage(platform, request, url, note);
  const isPage = named !== undefined && PAGES.has(named);
  const { assets } = await pageFiles();
  const asset = assets.get(path);
  const isRead = request.method === "GET" || request.method === "HEAD";
  if (!isRead && (isPage || asset)) return methodNotAllowed("GET, HEAD");
  if (asset) return fileResponse(asset, request.headers, ASSET_HEADERS);
  if (!isPage && !readsPages(request.headers)) return errorAnswer({ status: 404, message: "There is no page at this address." });
  const document = await documentOf(platform, themeNamed(cookieOf(request.headers, THEME_COOKIE)));
  return fileResponse(document, request.headers, DOCUMENT_HEADERS, isPage ? 200 : 404);
}

function readsPages(headers: Headers): boolean {
  return headers.has(PAGE_KEY_HEADER) || /\btext\/html\b/i.test(headers.get("accept") ?? "");
}

/** Documents by their attributes. */
const documents = new Map<string, Promise<PageFile>>();

/**
 * The document, with the theme that the browser chose, and the name of the identity provider where
 * one can log in at one.
 */
function documentOf({ oidc }: Platform, theme: Theme | undefined): Promise<PageFile> {
  const attributes = [
    ...(theme === undefined ? [] : [` data-theme="${theme}"`]),
    ...(oidc === undefined ? [] : [` data-provider="${escapeHtml(oidc.host)}"`]),
  ].join("");
  const made = documents.get(attributes) ?? makeDocument(attributes);
  documents.set(attributes, made);
  return made;
}

async function makeDocument(attributes: string): Promise<PageFile> {
  const { document } = await pageFiles();
  if (attributes === "") return document;
  const text = new TextDecoder().decode(document.bytes).replace('<html lang="en"', (tag) => tag + attributes);
  return pageFile({ name: "index.html", bytes: new TextEncoder().encode(text) });
}
