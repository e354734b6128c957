/** The assets of pages: the style sheet and the scripts. They hold no data and are public. */

import { SAFE_HEADERS } from "../wire/http/respond.ts";
import { browserScript } from "./browser-script.ts" with { type: "macro" };

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
header { justify-content: space-between; } header button { flex: none; padding: 0.2rem 0.75rem; } #account { display: flex; gap: 0.75rem; align-items: baseline; }
[hidden], #account[hidden] { display: none; }
footer { border-top: 1px solid var(--line); color: var(--dim); font-size: 13px; }
a { color: var(--accent); }
h1 { font-size: 1.35rem; margin: 1rem 0 0.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 2rem 0 0.5rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1rem; margin: 0.5rem 0; }
dt { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, monospace; font-size: 13px; }
pre { margin: 0; padding: 0.75rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.dim { color: var(--dim); } .good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.card { max-width: 28rem; margin: 3rem auto; padding: 1.5rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card); }
.card h1 { margin-top: 0; }
form { display: flex; gap: 0.75rem; margin-top: 1.5rem; }
.command { display: flex; gap: 0.75rem; align-items: center; } .command code { flex: 1; padding: 0.6rem 0.75rem; border: 1px solid var(--line); border-radius: 6px; overflow-wrap: anywhere; }
.command button { flex: none; }
.code { font-size: 1.35rem; letter-spacing: 0.08em; }
button { flex: 1; padding: 0.6rem 1rem; border: 1px solid var(--line); border-radius: 6px; background: transparent; color: inherit; font: inherit; cursor: pointer; }
.button { display: block; padding: 0.6rem 1rem; border: 1px solid var(--line); border-radius: 6px; text-align: center; text-decoration: none; overflow-wrap: anywhere; }
button.primary, .button.primary { background: #0b68cb; border-color: #0b68cb; color: #ffffff; }
button:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;

const PAGE_SCRIPT = browserScript("page");
const ENTRANCE_SCRIPT = browserScript("entrance");

interface Asset {
  readonly text: string;
  readonly type: string;
  readonly etag: string;
}

function asset(text: string, type: string): Asset {
  return { text, type, etag: `"${new Bun.CryptoHasher("sha256").update(text).digest("base64url")}"` };
}

const ASSETS: ReadonlyMap<string, Asset> = new Map([
  ["/assets/style.css", asset(STYLE, "text/css; charset=utf-8")],
  ["/assets/page.js", asset(PAGE_SCRIPT, "text/javascript; charset=utf-8")],
  ["/assets/entrance.js", asset(ENTRANCE_SCRIPT, "text/javascript; charset=utf-8")],
]);

/** The answer to a request for an asset; undefined when the path has none. */
export function assetResponse(request: Request, path: string): Response | undefined {
  const found = ASSETS.get(path);
  if (!found) return undefined;
  const headers = { ...SAFE_HEADERS, "content-type": found.type, "cache-control": "no-cache", etag: found.etag };
  if (request.headers.get("if-none-match") === found.etag) return new Response(null, { status: 304, headers });
  return new Response(found.text, { headers });
}
