/** The frame of every page: head, style, footer. Pages need no network and no script; they follow the browser's light or dark setting. */

import { SAFE_HEADERS } from "../http/respond.ts";
import { type Html, html, Html as RawHtml } from "./html.ts";

const STYLE = `
:root { color-scheme: light dark; --text: #1c2024; --dim: #60646c; --line: #d9dce1; --back: #fcfcfd; --card: #ffffff; --accent: #0b68cb; --good: #18794e; --bad: #c62a2f; --warn: #946800; }
@media (prefers-color-scheme: dark) {
  :root { --text: #edeef0; --dim: #b0b4ba; --line: #363a3f; --back: #111113; --card: #18191b; --accent: #70b8ff; --good: #3dd68c; --bad: #ff9592; --warn: #ffca16; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
header, main, footer { max-width: 66rem; margin: 0 auto; padding: 1rem; }
header { display: flex; gap: 1rem; align-items: baseline; border-bottom: 1px solid var(--line); }
header a { font-weight: 600; color: inherit; text-decoration: none; }
footer { border-top: 1px solid var(--line); color: var(--dim); font-size: 13px; }
a { color: var(--accent); }
h1 { font-size: 1.35rem; margin: 1rem 0 0.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 2rem 0 0.5rem; }
.scroll { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; background: var(--card); }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.75rem; border-bottom: 1px solid var(--line); overflow-wrap: break-word; }
td code { overflow-wrap: anywhere; } td:first-child code, td.name { white-space: nowrap; } td.wide { min-width: 20rem; } .fact { display: inline-block; margin-right: 0.75rem; }
tr:last-child td { border-bottom: 0; }
th { color: var(--dim); font-weight: 500; white-space: nowrap; }
td.num { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1rem; margin: 0.5rem 0; }
dt { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, monospace; font-size: 13px; }
pre { margin: 0; padding: 0.75rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.scroll > pre { width: max-content; white-space: pre; }
svg { display: block; }
.bar { fill: var(--accent); } .bar.bad { fill: var(--bad); }
.dim { color: var(--dim); } .good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.card { max-width: 28rem; margin: 3rem auto; padding: 1.5rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
.card h1 { margin-top: 0; }
form { display: flex; gap: 0.75rem; margin-top: 1.5rem; }
button { flex: 1; padding: 0.6rem 1rem; border: 1px solid var(--line); border-radius: 6px; background: transparent; color: inherit; font: inherit; cursor: pointer; }
button.primary { background: #0b68cb; border-color: #0b68cb; color: #ffffff; }
button:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;

const STYLE_HASH = new Bun.CryptoHasher("sha256").update(STYLE).digest("base64");

/** What a page is made of. */
export interface Page {
  readonly title: string;
  readonly body: Html;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Without the link to the overview, for a server whose dashboard is off. */
  readonly bare?: boolean;
}

/** The page as an answer. Its policy admits this style sheet and nothing else, and keeps it out of frames. */
export function pageResponse({ title, body, status = 200, headers = {}, bare = false }: Page): Response {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} - svc</title>
<style>${new RawHtml(STYLE)}</style>
</head>
<body>
<header>${bare ? html`<strong>svc</strong>` : html`<a href="/">svc</a>`}</header>
<main>${body}</main>
<footer>This page is served without a login, to this machine only: the server checks that the connection comes from here and that the Host and Origin headers are its own.</footer>
</body>
</html>
`;
  return new Response(page.text, {
    status,
    headers: {
      ...SAFE_HEADERS,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
      "x-frame-options": "DENY",
      "referrer-policy": "same-origin",
      ...headers,
    },
  });
}

/** A page that says that there is nothing, or why not. */
export function messagePage(status: number, title: string, text: string, bare = false): Response {
  return pageResponse({ status, title, bare, body: html`<h1>${title}</h1><p>${text}</p>` });
}
