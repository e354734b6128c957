/**
 * `GET /v1/notebook-outputs/...`: HTML that a notebook's cell gave, as a document for a frame of
 * the dashboard. Whoever can run cells writes it, so it is a sandbox without an origin: scripts,
 * forms, links, frames and other hosts are shut out by its headers, and taken out of it as well,
 * because some of them reach for the network before a header stops them.
 */

import { Failure } from "../../failure.ts";
import { type HtmlOutput, htmlOutputs, outputAt, outputOf } from "../../notebooks/html-outputs.ts";
import type { Platform } from "../platform.ts";
import { jsonError, methodNotAllowed, SAFE_HEADERS } from "./respond.ts";

const POLICY = [
  "sandbox",
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  "img-src data:",
  "font-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join("; ");
const HEADERS = {
  ...SAFE_HEADERS,
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": POLICY,
  "x-frame-options": "SAMEORIGIN",
  "x-dns-prefetch-control": "off",
  "referrer-policy": "no-referrer",
};
/** What libraries style is meant for paper. */
const HEAD = `<!doctype html><style>
:root { color-scheme: light; background: #fff; color: #1b1f24; font: 14px/1.5 system-ui, sans-serif; }
body { margin: 8px; } table { border-collapse: collapse; } td, th { padding: 2px 8px; text-align: right; } svg, img { max-width: 100%; }
</style>
`;
/** Elements that run, load or lead somewhere. */
const TAKEN_OUT = "script, link, meta, base, iframe, frame, frameset, object, embed, portal";

/** Answers a request for an output. */
export async function serveOutput(platform: Platform, { method }: Request, url: URL): Promise<Response> {
  if (method !== "GET") return methodNotAllowed("GET");
  const output = outputAt(platform.keys.objects, url, platform.clock.now());
  if ("refused" in output) return jsonError(403, "address_refused", output.refused);
  const html = await htmlOf(platform, output);
  if (html === undefined) return jsonError(404, "not_found", "The cell gives something else now. Load the notebook again.");
  return taming().transform(new Response(HEAD + html, { headers: HEADERS }));
}

/** The text of an output; undefined when its cell does not give it any more. */
async function htmlOf(platform: Platform, { environmentId, notebookId, cellId, digest }: HtmlOutput): Promise<string | undefined> {
  const notebooks = await platform.notebooks();
  try {
    const notebook = await notebooks.find(environmentId, { id: notebookId });
    const cell = (await notebooks.cells(notebook)).find(({ id }) => id === cellId);
    const given = cell ? htmlOutputs(await notebooks.outputs(cell)) : [];
    return given.find(({ html }) => outputOf(notebook, cellId, html).digest === digest)?.html;
  } catch (error) {
    if (error instanceof Failure && error.kind === "not_found") return undefined;
    throw error;
  }
}

/** Takes out what runs, loads or leads somewhere; a link says where it led. */
function taming(): HTMLRewriter {
  return new HTMLRewriter()
    .on(TAKEN_OUT, { element: (element) => void element.remove() })
    .on("form", { element: (element) => void element.removeAndKeepContent() })
    .on("a, area", {
      element(link) {
        const to = link.getAttribute("href");
        for (const name of ["href", "xlink:href", "ping"]) link.removeAttribute(name);
        if (to !== null && !link.hasAttribute("title")) link.setAttribute("title", to);
      },
    });
}
