/** The documentation at `/docs/`, which is public: it says nothing that the program does not. */

import { readSite, type Site } from "../../docs/site.ts";
import { errorAnswer, methodNotAllowed } from "../wire/http/respond.ts";
import { FILE_HEADERS, fileResponse, type PageFile, pageFile } from "./files.ts";

const FOLDER = "/docs/";
const HEADERS = { ...FILE_HEADERS, "cache-control": "no-cache" };

let site: Promise<Site> | undefined;
const files = new Map<string, Promise<PageFile>>();

/** Answers a request for a page of the documentation, or for a file of one. */
export async function serveDocs(request: Request, url: URL): Promise<Response> {
  if (request.method !== "GET" && request.method !== "HEAD") return methodNotAllowed("GET, HEAD");
  if (url.pathname === "/docs") return new Response(null, { status: 308, headers: { ...HEADERS, location: FOLDER } });
  const name = url.pathname.slice(FOLDER.length) || "index.html";
  site ??= readSite();
  const { names, text } = await site;
  if (!names.has(name)) return errorAnswer({ status: 404, message: "The documentation has no page at this address; /docs/ lists them." });
  const file = files.get(name) ?? pageFile({ name, bytes: new TextEncoder().encode(text(name)) });
  files.set(name, file);
  return fileResponse(await file, request.headers, HEADERS);
}
