/**
 * The layout of every page: head, header, footer. Pages load nothing from other hosts, and follow
 * the browser's light or dark setting.
 */

import { type Html, html } from "../../domain/html.ts";
import { SAFE_HEADERS } from "../wire/http/respond.ts";

/**
 * The content security policy: only this server's own files, no inline scripts, no framing, and no
 * script made from text.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The parts of a page. */
export interface Page {
  readonly title: string;
  readonly body: Html;
  readonly status?: number;
  /** Name of the asset with the page's script; absent = no script. */
  readonly script?: "page" | "entrance";
  /** Content before `main`, which only shells have. */
  readonly before?: Html;
  /** Content at the right of the header. */
  readonly account?: Html;
  /** Whether to leave out the link to the overview, for a server without a dashboard. */
  readonly bare?: boolean;
}

/** The page as an answer. */
export function pageResponse({ title, body, status = 200, script, before, account, bare = false }: Page): Response {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - svc</title>
<link rel="stylesheet" href="/assets/style.css">
${script && html`<script type="module" src="/assets/${script}.js"></script>`}
</head>
<body>
<header>${bare ? html`<strong>svc</strong>` : html`<a href="/">svc</a>`}${account}</header>
${before}
<main>${body}</main>
<footer>Pages show data to browsers that are logged in, and to no other: <code>svc dashboard</code> opens one.</footer>
</body>
</html>
`;
  return new Response(page.text, {
    status,
    headers: {
      ...SAFE_HEADERS,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": POLICY,
      "cross-origin-opener-policy": "same-origin",
      "x-frame-options": "DENY",
      "referrer-policy": "same-origin",
    },
  });
}

/** A page with a title and one sentence, for errors. */
export function messagePage(status: number, title: string, text: string, bare = false): Response {
  return pageResponse({ status, title, bare, body: html`<h1>${title}</h1><p>${text}</p>` });
}
