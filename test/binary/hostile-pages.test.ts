/**
 * Every page that the compiled server itself makes, with markup in every text that a project, a
 * request and a resolver can put there; and the document of all others, which holds no data.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { callAuth, openSession, type TestSession } from "../harness/browser-session.ts";
import { Sandbox } from "../harness/sandbox.ts";

/** A mark that shows that a text is on a page, and what it tries to be there. */
const markup = (mark: string) => `${mark}<script>alert(1)</script><svg onload=alert(1)><a href="javascript:alert(1)">'"&lt;`;
const inPython = (mark: string) => JSON.stringify(markup(mark));
/** Marks that must be found on some page, or the crawl has not seen what it is for. */
const MARKS = ["valued", "raised", "printed", "correlated"];

const PROJECT = {
  "svc.yaml": "project: pages\nenvironments:\n  default: {}\n",
  "features.py": `from svc import online
from svc.features import feature, features


@features
class User:
    id: int
    # ${markup("described")}
    # :owner: ${markup("owned")}
    # :tags: plain
    name: str
    broken: str


@online
def get_name(id: User.id) -> User.name:
    print(${inPython("printed")})
    return ${inPython("valued")}


@online
def breaks(id: User.id) -> User.broken:
    raise ValueError(${inPython("raised")})
`,
};

let sandbox: Sandbox;
let session: TestSession;
const runs: string[] = [];
beforeAll(async () => {
  sandbox = new Sandbox();
  await sandbox.startServer();
  const cwd = await sandbox.write(PROJECT);
  const env = {
    GITHUB_ACTIONS: "true",
    GITHUB_SERVER_URL: "javascript:alert(1)//",
    GITHUB_REPOSITORY: markup("repository"),
    GITHUB_RUN_ID: "1",
  };
  const deployed = ["apply", "--force", "--await", "--description", markup("annotated"), "--tag", markup("tagged")];
  for (const words of [deployed, [...deployed, "--branch", "branched"]]) {
    const { exitCode, stderr } = await sandbox.svc(words, { cwd, env });
    expect([exitCode, stderr.match(/Error.*/)?.[0]]).toEqual([0, undefined]);
  }
  const headers = await sandbox.authorized();
  const body = {
    inputs: { "user.id": 1 },
    outputs: ["user.name", "user.broken"],
    correlation_id: markup("correlated"),
    explain: true,
    store_plan_stages: true,
  };
  for (const outputs of [body.outputs, [markup("refused")]]) {
    const answer = await fetch(`${sandbox.url}/v1/query/online`, { method: "POST", headers, body: JSON.stringify({ ...body, outputs }) });
    const id = /"query_id": ?"([^"]+)"/.exec(await answer.text())?.[1];
    if (id) runs.push(`/environments/default/query-runs/${id}`);
  }
  session = await openSession(sandbox.url, await sandbox.accessToken());
}, 120_000);
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
  const waiting = ["/", "/nothing", new URL(login.url).pathname, ...runs];
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
  expect([...seen].some((path) => path.includes("/deployments/"))).toBe(true);
  expect([...seen].some((path) => path.includes("/query-runs/"))).toBe(true);
  expect([...seen].some((path) => path.includes("/stages/"))).toBe(true);
  expect(MARKS.filter((mark) => !text.includes(`${mark}&lt;script&gt;alert(1)&lt;/script&gt;`))).toEqual([]);
  expect(text).not.toContain("<script>alert(1)");
}, 120_000);

test("the cookie is for no script and for no other site", () => {
  expect(session.setCookie).toMatch(/; HttpOnly; SameSite=Strict(;|$)/);
});
