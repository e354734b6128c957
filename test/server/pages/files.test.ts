/** The dashboard's document and files: what they say, to whom, and how they are kept. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { addressOf, PAGE_NAMES, type PageName, placeOf } from "../../../src/domain/addresses.ts";
import { pageNames } from "../../../src/server/pages/baked-page-names.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";

const folder = new TempFolder();
let server: TestServer;
beforeAll(async () => {
  server = await TestServer.start(folder.path);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const get = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
  fetch(new URL(path, server.url), { headers, redirect: "manual", ...init });
const assetsOf = (document: string) => [...document.matchAll(/(?:src|href)="(\/[^"]+\.(?:js|css|svg))"/g)].map(([, path]) => path ?? "");

test("the document is the same at every page, says nothing of the data, and is asked for again each time", async () => {
  const { environmentId } = server.credentials;
  const paths = ["/", "/features", `/environments/${environmentId}`, "/environments/nothing/deployments/dpl_0", "/gallery"];
  const answers = await Promise.all(paths.map((path) => get(path)));
  expect(answers.map(({ status }) => status)).toEqual(paths.map(() => 200));
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  expect(new Set(texts).size).toBe(1);
  expect(texts[0]).not.toContain(environmentId);
  expect(texts[0]).not.toMatch(/<script(?! type="module" crossorigin src="\/)|<style| style=| on\w+=/);
  const { headers } = answers[0] as Response;
  expect(headers.get("cache-control")).toBe("no-cache");
  expect(headers.get("content-security-policy")).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; frame-src 'self'; form-action 'self'; " +
      "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  );
  for (const [name, value] of [
    ["x-content-type-options", "nosniff"],
    ["referrer-policy", "same-origin"],
    ["cross-origin-opener-policy", "same-origin"],
    ["cross-origin-resource-policy", "same-origin"],
    ["x-frame-options", "DENY"],
  ] as const)
    expect([name, headers.get(name)]).toEqual([name, value]);
});

test("its files are kept for good, are compressed for those who take that, and are 304 for those who have them", async () => {
  const assets = assetsOf(await (await get("/")).text());
  expect(assets.map((path) => path.slice(path.lastIndexOf("."))).sort()).toEqual([".css", ".js", ".svg"]);
  for (const path of assets) {
    const plain = await get(path, { "accept-encoding": "identity" });
    const small = await get(path, { "accept-encoding": "br, gzip;q=0.5" });
    expect([plain.headers.get("content-encoding"), small.headers.get("content-encoding")]).toEqual([null, "gzip"]);
    expect(await small.text()).toBe(await plain.text());
    expect((await get(path, { "accept-encoding": "gzip;q=0" })).headers.get("content-encoding")).toBeNull();
    expect(plain.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(plain.headers.get("vary")).toBe("accept-encoding");
    const etag = plain.headers.get("etag") ?? "";
    expect((await get(path, { "if-none-match": `"x", ${etag}` })).status).toBe(304);
    expect((await get(path, { "if-none-match": '"x"' })).status).toBe(200);
    const head = await get(path, {}, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await get(path, { origin: server.url }, { method: "POST" })).status).toBe(405);
    expect((await get(path, { origin: "https://evil.example" })).status).toBe(403);
  }
});

test("an address that is no page is 404: the document for people, JSON for programs", async () => {
  for (const path of ["/nothing", "/environments/e/nothing", "/chunk-00000000.js", "/../main.tsx", "/features/%ff"]) {
    expect(placeOf(path)).toBeUndefined();
    const shown = await get(path, { accept: "text/html" });
    expect([path, shown.status, shown.headers.get("content-type")]).toEqual([path, 404, "text/html; charset=utf-8"]);
    const told = await get(path);
    expect([path, told.status, told.headers.get("content-type")]).toEqual([path, 404, "application/json;charset=utf-8"]);
  }
  expect((await get("/features", { origin: server.url }, { method: "POST" })).status).toBe(405);
});

test("a page that is not there yet is 404 at its address, and the others are not", async () => {
  const params = new Proxy({}, { get: () => "x" }) as never;
  const madeByServer: readonly PageName[] = ["entry", "login", "queryRun", "queryRunStage"];
  const addressed = PAGE_NAMES.filter((page) => !madeByServer.includes(page)).map(
    (page) => [page, addressOf(page, params, { environment: "e" })] as const,
  );
  const answers = addressed.map(async ([page, path]) => ({ page, status: (await get(path, { accept: "text/html" })).status }));
  const expected = addressed.map(([page]) => ({ page, status: pageNames.includes(page) ? 200 : 404 }));
  expect(await Promise.all(answers)).toEqual(expected);
  expect(pageNames).toContain("deployment");
});

test("the document comes with the theme that the browser chose, and with no other text of its cookies", async () => {
  const tag = async (cookie: string) => /<html[^>]*>/.exec(await (await get("/", { cookie })).text())?.[0];
  expect(await tag("a=b; svc_theme=dark; c=d")).toBe('<html lang="en" data-theme="dark">');
  expect(await tag("svc_theme=light")).toBe('<html lang="en" data-theme="light">');
  for (const cookie of ['svc_theme="><script>', "svc_theme=", "svc_theme=Dark", "xsvc_theme=dark"])
    expect(await tag(cookie)).toBe('<html lang="en">');
  const dark = await get("/", { cookie: "svc_theme=dark" });
  expect(dark.headers.get("vary")).toBe("accept-encoding, cookie");
  const known = { "if-none-match": dark.headers.get("etag") ?? "" };
  expect((await get("/", { ...known, cookie: "svc_theme=dark" })).status).toBe(304);
  expect((await get("/", known)).status).toBe(200);
});

test("a server without a dashboard has no document, and still the pages of logging in", async () => {
  using elsewhere = new TempFolder();
  await using headless = await TestServer.start(elsewhere.path, { headless: true });
  const status = async (path: string) => (await fetch(headless.url + path, { headers: { accept: "text/html" } })).status;
  expect([await status("/"), await status("/features"), await status("/enter"), await status("/cli/login_0")]).toEqual([
    404, 404, 200, 200,
  ]);
});
