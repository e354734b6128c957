/**
 * The pages that the compiled server itself makes, with markup in the text that a caller can put
 * there; and the document of all others, which holds no data. Their content is looked at in
 * test/browser/pages.test.ts.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { callAuth, openSession, type TestSession } from "../harness/browser-session.ts";
import { Sandbox } from "../harness/sandbox.ts";

/** A mark that shows that a text is on a page, and what it tries to be there. */
const markup = (mark: string) => `${mark}<script>alert(1)</script><svg onload=alert(1)><a href="javascript:alert(1)">'"&lt;`;
/** Marks that must be found on some page, or the crawl has not seen what it is for. */
const MARKS = ["device"];

let sandbox: Sandbox;
let session: TestSession;
beforeAll(async () => {
  sandbox = new Sandbox();
  await sandbox.startServer();
  session = await openSession(sandbox.url, await sandbox.accessToken());
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

/**
 * Elements and attributes that would run or load something; the page's own script and style are
 * files of the server.
 */
const ALIVE =
  /<(?:svg|img|iframe|object|embed|base|meta http-equiv)\b|<script(?! type="module" (?:crossorigin )?src="\/[\w/-]+\.js">)|\son\w+\s*=\s*(?!&)[^<]*>|(?:href|src|action)="\s*(?:javascript|data):/i;

/** The tags of a page, without its text. */
const tagsOf = (html: string) => html.match(/<[^>]*>/g) ?? [];

test("all are escaped, make no link, and carry the headers that keep a browser from running anything", async () => {
  const login = (await (await callAuth(sandbox.url, "CreateLoginSession", { deviceName: markup("device") })).json()) as { url: string };
  const waiting = ["/", "/nothing", new URL(login.url).pathname, "/environments/default/query-runs/none"];
  const seen = new Set<string>();
  let text = "";
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    if (seen.has(path) || seen.size >= 60) continue;
    seen.add(path);
    for (const headers of [session.headers, { accept: "text/html" }]) {
      const response = await fetch(new URL(path, sandbox.url), { headers, redirect: "manual" });
      const page = await response.text();
      const told = (name: string) => response.headers.get(name);
      expect([path, response.status < 500]).toEqual([path, true]);
      expect(told("content-type")).toBe("text/html; charset=utf-8");
      expect(told("content-security-policy")).toStartWith("default-src 'none'; script-src 'self'; style-src 'self';");
      expect([told("x-frame-options"), told("x-content-type-options")]).toEqual(["DENY", "nosniff"]);
      expect(told("cache-control")).toBe(page.includes('id="app"') ? "no-cache" : "no-store");
      for (const tag of tagsOf(page)) expect([path, tag.match(ALIVE)?.[0]]).toEqual([path, undefined]);
      text += page;
      for (const [, link = ""] of page.matchAll(/<a [^>]*href="([^"#]*)/g)) {
        expect(link).toMatch(/^(?:\/|https?:\/\/|$)/);
        if (link.startsWith("/") && !link.startsWith("//") && !link.startsWith("/assets/")) waiting.push(link.replaceAll("&amp;", "&"));
      }
    }
  }
  console.log(`${seen.size} pages`);
  expect(MARKS.filter((mark) => !text.includes(`${mark}&lt;script&gt;alert(1)&lt;/script&gt;`))).toEqual([]);
  expect(text).not.toContain("<script>alert(1)");
}, 300_000);

test("the cookie is for no script and for no other site", () => {
  expect(session.setCookie).toMatch(/; HttpOnly; SameSite=Strict(;|$)/);
});
