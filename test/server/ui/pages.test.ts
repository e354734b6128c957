import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { escapeHtml, html } from "../../../src/domain/html.ts";
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

describe("pages", () => {
  test("what is not there is 404, and nothing is posted to a page", async () => {
    const { headers } = await server.session();
    const response = await server.page("/cli/login_0");
    expect(response.status).toBe(404);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toStartWith("default-src 'none'; script-src 'self'; style-src 'self';");
    const run = `${server.url}/environments/${server.credentials.environmentId}/query-runs/q_0`;
    expect((await fetch(run, { method: "POST", headers: { ...headers, origin: server.url } })).status).toBe(405);
  });
});

describe("without a session", () => {
  const paths = () => ["/cli/login_0", "/cli/login_1"];

  test("every page is the same shell, whatever there is and wherever the request comes from", async () => {
    const shells = await Promise.all(paths().map(async (path) => (await fetch(new URL(path, server.url))).text()));
    expect(new Set(shells).size).toBe(1);
    expect(shells[0]).not.toContain(server.credentials.environmentId);
    expect(shells[0]).toContain('<script type="module" src="/assets/page.js"></script>');
  });

  test("one half, a wrong half, or a bearer token opens none", async () => {
    const { cookie, pageKey } = await server.session();
    const bearer = `Bearer ${await server.token()}`;
    const cases: Record<string, string>[] = [
      { "svc-page-key": pageKey },
      { cookie, "svc-page-key": "" },
      { cookie, "svc-page-key": `${pageKey}x` },
      { cookie: `${cookie}x`, "svc-page-key": pageKey },
      { cookie: cookie.replace(/^svc_session_\d+/, "svc_session_1"), "svc-page-key": pageKey },
      { authorization: bearer, "svc-page-key": "svcb_x" },
    ];
    for (const headers of cases) {
      for (const path of paths()) {
        const response = await fetch(new URL(path, server.url), { headers });
        expect([response.status, (await response.text()).includes(server.credentials.environmentId)]).toEqual([401, false]);
      }
    }
    const keyless: Record<string, string>[] = [{ cookie }, { authorization: bearer }];
    for (const headers of keyless) {
      const text = await (await fetch(new URL("/cli/login_0", server.url), { headers })).text();
      expect(text).not.toContain(server.credentials.environmentId);
    }
  });

  test("assets are for everybody, and are asked for again only when they changed", async () => {
    for (const [path, type] of [
      ["/assets/style.css", "text/css"],
      ["/assets/page.js", "text/javascript"],
      ["/assets/entrance.js", "text/javascript"],
    ]) {
      const response = await fetch(new URL(path ?? "", server.url));
      expect([response.status, response.headers.get("content-type")?.split(";")[0]]).toEqual([200, type]);
      const etag = response.headers.get("etag") ?? "";
      expect((await fetch(new URL(path ?? "", server.url), { headers: { "if-none-match": etag } })).status).toBe(304);
    }
    expect((await fetch(new URL("/assets/../meta.db", server.url))).status).toBe(404);
  });
});

describe("templates", () => {
  test("escape everything that is not made by them", () => {
    expect(html`<b>${"<"}${html`<i>${"&"}</i>`}${[1, '"', undefined, false, null]}</b>`.text).toBe("<b>&lt;<i>&amp;</i>1&quot;</b>");
    expect(escapeHtml("a\u0000\u001b\u200f\nb\tc")).toBe("a\\u0000\\u001b\\u200f\nb\tc");
  });
});
