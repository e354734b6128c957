import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { escapeHtml, externalLink, html } from "../../../src/server/ui/html.ts";
import { traceSection } from "../../../src/server/ui/trace-section.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";

const folder = new TempFolder();
let server: TestServer;
const HOSTILE = `<img src=x onerror=alert(1)>"'\u202e&amp;`;

beforeAll(async () => {
  server = await TestServer.start(folder.path);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

async function page(path: string): Promise<{ status: number; text: string }> {
  const response = await server.page(path);
  const text = await response.text();
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(response.headers.get("content-security-policy")).toStartWith("default-src 'none'; script-src 'self'; style-src 'self';");
  expect(text).not.toMatch(/<script|<img|<iframe| style=| on\w+="/i);
  return { status: response.status, text };
}

async function query(body: object, endpoint: "online" | "bulk" = "online"): Promise<{ meta: { query_id: string } }> {
  const response = await fetch(`${server.url}/v1/query/${endpoint}`, {
    method: "POST",
    headers: { authorization: `Bearer ${await server.token()}` },
    body: JSON.stringify(body),
  });
  return (await response.json()) as { meta: { query_id: string } };
}

describe("pages", () => {
  test("a query run shows what was asked and answered, what failed, and its plan", async () => {
    expectLive(
      await deploy(server, {
        ...GREETING,
        "resolvers.py": `${GREETING["resolvers.py"]?.replace('return f"user {id}"', 'return f"<b>{id}</b>"').replace('return "hello " + name', 'raise ValueError("<i>no</i>")')}`,
      }),
    );
    const { meta } = await query({
      inputs: { "user.id": 5 },
      outputs: ["user.name", "user.greeting"],
      explain: true,
      correlation_id: HOSTILE,
      query_name: "",
    });
    const { status, text } = await page(`/environments/${server.credentials.environmentId}/query-runs/${meta.query_id}`);
    expect(status).toBe(200);
    expect(text).toContain("&quot;&lt;b&gt;5&lt;/b&gt;&quot;");
    expect(text).toContain("&lt;i&gt;no&lt;/i&gt;");
    expect(text).toContain("RESOLVER_FAILED");
    expect(text).toContain("resolvers.greet");
    expect(text).toContain("\\u202e");
    expect(text).toMatch(/<h2>Plan<\/h2>\s*<div class="scroll"><pre>query /);
  });

  test("the run of a bulk query says that its values are not kept", async () => {
    expectLive(await deploy(server, GREETING));
    const pageOf = async (queryId: string) => (await page(`/environments/${server.credentials.environmentId}/query-runs/${queryId}`)).text;
    const bulk = await pageOf((await query({ inputs: { "user.id": [1, 2] }, outputs: ["user.name"] }, "bulk")).meta.query_id);
    expect(bulk.match(/Not kept: this was a bulk query, and the log holds no values of those\./g)).toHaveLength(2);
    const single = await pageOf((await query({ inputs: { "user.id": 1 }, outputs: ["user.name"] })).meta.query_id);
    expect(single).not.toContain("bulk");
  });

  test("a span is a line with its readable name, and nothing is said twice", () => {
    const ids = { traceId: "a".repeat(32), parentSpanId: "", queryId: "q", environmentId: "e", deploymentId: "d" };
    const name = "user.spend__3600__";
    const attributes = { "svc.step": "expression", "svc.resolver": name, "svc.rows.in": "1" };
    const { text } = traceSection([{ ...ids, spanId: "b", kind: "op", name, startedAt: 1, durationMs: 2, error: "", attributes }]);
    expect(text).toContain('<span class="dim">expression</span> user.spend[1h]</td>');
    expect(text).toContain('<td class="wide"><span class="fact"><span class="dim">rows in</span> 1</span> </td>');
  });

  test("what is not there is 404", async () => {
    const environment = server.credentials.environmentId;
    for (const path of [
      "/environments/env_x/query-runs/q_0",
      `/environments/${environment}/query-runs/%3Cb%3E`,
      `/environments/${environment}/query-runs/q_0/stages/x`,
    ]) {
      expect((await page(path)).status).toBe(404);
    }
    const { headers } = await server.session();
    const run = `${server.url}/environments/${environment}/query-runs/q_0`;
    expect((await fetch(run, { method: "POST", headers: { ...headers, origin: server.url } })).status).toBe(405);
  });

  test("a session of another team sees none of this one's environments", async () => {
    using elsewhere = new TempFolder();
    const first = await TestServer.start(elsewhere.path);
    await first[Symbol.asyncDispose]();
    const db = new Database(join(elsewhere.path, "data", "meta.db"));
    db.run("insert into team (id, name, created_at) values ('team_other', 'other', 1)");
    db.run("update client set team_id = 'team_other'");
    db.close();
    await using server = await TestServer.start(elsewhere.path, { credentials: first.credentials });
    expect((await server.page(`/environments/${first.credentials.environmentId}/query-runs/q_0`)).status).toBe(404);
  });
});

describe("without a session", () => {
  const paths = () => {
    const environment = `/environments/${server.credentials.environmentId}`;
    return [`${environment}/query-runs/x`, "/environments/nothing/query-runs/x", `${environment}/query-runs/x/stages/1`, "/cli/login_0"];
  };

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
    expect(externalLink("HTTPS://example.com/<").text).toBe(
      '<a href="HTTPS://example.com/&lt;" rel="noreferrer noopener">HTTPS://example.com/&lt;</a>',
    );
    expect(externalLink(" javascript:alert(1)").text).toBe(" javascript:alert(1)");
  });
});
