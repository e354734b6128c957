/**
 * The conformance table in a browser, as a page of somebody's own would use the client: one host
 * serves the page, hands out tokens, and passes the calls of the API on to the server.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { launchBrowser } from "../../harness/browser.ts";
import { exchange } from "../../harness/browser-session.ts";
import type { Address } from "./curl.ts";
import type { Outcome, Request } from "./requests.ts";

/** @param modules folder of the package and the runner */
export async function runInBrowser(table: readonly Request[], address: Address, modules: string): Promise<readonly Outcome[]> {
  const host = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 60,
    fetch: (request) => answer(request, address, modules),
  });
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${host.port}/`);
    const run = (given: string) => (globalThis as unknown as { runTable: (table: string) => Promise<string> }).runTable(given);
    return JSON.parse(await page.evaluate(run, JSON.stringify(table))) as Outcome[];
  } finally {
    await browser.close();
    await host.stop(true);
  }
}

const PAGE = `<!DOCTYPE html><title>table</title><script type="module">
import * as client from "/package/dist/index.js";
import { run } from "/typescript.mjs";
let known;
const token = (refused) => (known = refused || !known ? fetch("/token").then((answer) => answer.text()) : known);
globalThis.runTable = async (table) => JSON.stringify(await run(JSON.parse(table), client, { apiServer: location.origin, token }));
</script>`;

async function answer(request: globalThis.Request, { clientId, clientSecret, url }: Address, modules: string): Promise<Response> {
  const { pathname, search } = new URL(request.url);
  if (pathname === "/") return new Response(PAGE, { headers: { "content-type": "text/html" } });
  if (pathname === "/token") return new Response(await exchange(url, clientId, clientSecret));
  if (/\.m?js$/.test(pathname))
    return new Response(readFileSync(join(modules, pathname)), { headers: { "content-type": "text/javascript" } });
  if (!pathname.startsWith("/v1/")) return new Response(null, { status: 404 });
  // With the host that the page has: the server takes calls of its own origin alone.
  const headers = new Headers(request.headers);
  headers.set("host", request.headers.get("host") ?? "");
  const body = request.method === "POST" ? await request.arrayBuffer() : undefined;
  const received = await fetch(`${url}${pathname}${search}`, { method: request.method, headers, body, proxy: "" });
  return new Response(await received.arrayBuffer(), { status: received.status, headers: { "content-type": "application/json" } });
}
