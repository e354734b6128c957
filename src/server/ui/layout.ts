/**
 * The frame of every page: head, header, footer. Pages load nothing of other hosts, and follow the
 * browser's light or dark setting.
 */

import { SAFE_HEADERS } from "../wire/http/respond.ts";
import { type Html, html } from "./html.ts";

/**
 * Nothing but this server's own files, no script in the text, no frame around it, and no way from
 * text to script.
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

/** What a page is made of. */
export interface Page {
  readonly title: string;
  readonly body: Html;
  readonly status?: number;
  /** The script that it loads, by its name among the assets. */
  readonly script?: "page" | "entrance";
  /** What stands beside `main`: before it, what only a shell has. */
  readonly before?: Html;
  /** At the right of the header. */
  readonly account?: Html;
  /** Without the link to the overview, for a server whose dashboard is off. */
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

/** A page that says that there is nothing, or why not. */
export function messagePage(status: number, title: string, text: string, bare = false): Response {
  return pageResponse({ status, title, bare, body: html`<h1>${title}</h1><p>${text}</p>` });
}
