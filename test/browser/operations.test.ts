/** What pages about running, deploying, observing and settings do, on a server at work. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { MetricService } from "../../gen/svc/v1/metric_pb.ts";
import { MonitorService } from "../../gen/svc/v1/monitor_pb.ts";
import { QueryService } from "../../gen/svc/v1/query_pb.ts";
import { StreamService } from "../../gen/svc/v1/stream_pb.ts";
import { createSqliteMetadataStore } from "../../src/server/stores/metadata/sqlite.ts";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { eventually } from "../harness/eventually.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { violations } from "./accessibility.ts";
import { type Operated, operate } from "./operated-project.ts";
import { logIn, openTab, settled, type Tab } from "./tab.ts";
import { keepDelivery } from "./told-delivery.ts";

interface Row {
  readonly path: (made: Operated) => string;
  /** A text that shows that what was made is there. */
  readonly shows: string | RegExp;
  /** Whether a table has columns of data: there may be more than fit a screen. */
  readonly hasColumnsOfData?: boolean;
}

/** Labels of the tables that scroll sideways. */
function widerThanTheirPlace(page: Page): Promise<(string | null)[]> {
  return page
    .locator("main section.table")
    .evaluateAll((tables) => tables.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.getAttribute("aria-label")));
}

const ROWS: Readonly<Record<string, Row>> = {
  "log lines": { path: () => "/logs?q=level:warning", shows: /resolvers.get_name .*<img src=x/ },
  "a tail of the log": { path: () => "/logs?follow=yes&q=asked", shows: "asked for 20" },
  requests: { path: () => "/logs?tab=requests&q=CreateDeployment", shows: "DeploymentService/CreateDeployment" },
  "a board of metrics": { path: () => "/metrics", shows: "Latency of queries" },
  "an expression": { path: () => "/metrics?e=count:query.latency%20by%20%7Bquery_name%7D", shows: "query_name:browse" },
  monitors: { path: () => "/monitors", shows: "above 5 for 1m" },
  "a monitor": { path: () => "/monitors/busy", shows: "sum:query.count{query_name:browse}.rollup(10m)" },
  "runs of resolvers": { path: () => "/runs", shows: "resolvers.known" },
  "offline queries": { path: () => "/runs?kind=offline", shows: "user.name, user.score" },
  tasks: { path: () => "/runs?kind=tasks", shows: "work.py::shout" },
  "a task": { path: ({ task }) => `/runs/${task}`, shows: /worked <img src=x/ },
  evaluations: { path: () => "/evals", shows: "work.shout" },
  "an evaluation": {
    path: ({ evaluation }) => `/evals/${encodeURIComponent(evaluation)}`,
    shows: "evals.length",
  },
  "a run of an evaluation": {
    path: ({ evaluation, evaluationRuns: [first, second] }) => `/evals/${encodeURIComponent(evaluation)}/runs/${second}?with=${first}`,
    shows: "Rows in both",
    hasColumnsOfData: true,
  },
  benchmarks: { path: () => "/benchmarks", shows: "user.name, user.score" },
  "a benchmark": { path: ({ benchmarks: [first] }) => `/benchmarks/${first}`, shows: /^The image .*<img src=x/ },
  "a benchmark beside another": {
    path: ({ benchmarks: [first, second] }) => `/benchmarks/${second}?with=${first}`,
    shows: "too few queries to tell: run longer, or faster",
  },
  workflows: { path: () => "/runs?kind=workflows", shows: /^wf_/ },
  jobs: { path: () => "/runs?kind=jobs", shows: "async_offline_query" },
  "a run of a resolver": { path: ({ resolverRun }) => `/runs/${resolverRun}`, shows: "known users" },
  "an offline query": { path: ({ offlineQuery }) => `/runs/${offlineQuery}`, shows: "after prepare" },
  schedules: { path: () => "/schedules", shows: "30 2 * * *" },
  datasets: { path: () => "/datasets", shows: /^scores <img/ },
  "columns of a dataset": { path: ({ dataset }) => `/datasets/${encodeURIComponent(dataset)}`, shows: "user.score" },
  "rows of a dataset": {
    path: ({ dataset }) => `/datasets/${encodeURIComponent(dataset)}?tab=rows`,
    shows: "3 rows",
    hasColumnsOfData: true,
  },
  "files of a dataset": { path: ({ dataset }) => `/datasets/${encodeURIComponent(dataset)}?tab=files`, shows: /\.parquet$/ },
  resolvers: { path: () => "/resolvers", shows: "payments.on_payment" },
  "a resolver of messages": { path: ({ stream }) => `/resolvers/${stream}`, shows: "raise ValueError(message.note)" },
  sources: { path: () => "/sources", shows: "not declared in the project" },
  source: { path: () => "/sources/payments", shows: "payments.on_payment" },
  streams: { path: () => "/streams", shows: "payments" },
  stream: { path: ({ stream }) => `/streams/${stream}`, shows: "ValueError" },
  "a feature's rules and cache policy": { path: () => "/features/payment.amount", shows: "min=0, max=1000 (strict)" },
  "a version of a feature": { path: () => "/features/payment.note", shows: 'cache_defaults="evict_defaults"' },
  "a window in tiles": { path: () => "/features/shop.visited__86400__", shows: "in tiles" },
  "kept aggregates": { path: () => "/aggregates", shows: "sum of payment.amount by payment.shop_id" },
  "a job that filled them": { path: ({ backfill }) => `/runs/${backfill}`, shows: "aggregate_backfill" },
  branches: { path: () => "/branches", shows: /^dpl_/ },
  traffic: { path: () => "/traffic", shows: "The weights add up to 100." },
  // Twenty of the fixture, and those of two benchmarks, each with one ahead of its load.
  "rates by weights": { path: () => "/traffic", shows: /^62$/ },
  "what a deployment changed": {
    path: ({ live }) => `/deployments/${live}`,
    shows: "No resolver, feature, monitor, evaluation or function changed.",
  },
  functions: { path: () => "/compute/functions", shows: "shout_loudly" },
  "a function": { path: () => "/compute/functions/shout_loudly", shows: "shout_loudly(text: str) -> str" },
  builds: { path: () => "/compute/images", shows: "omitted" },
  "a build": { path: ({ live }) => `/compute/images/${live.replace("dpl_", "venv-")}`, shows: "virtual environment" },
  "what two deployments differ in": { path: ({ live, ready }) => `/deployments/${live}?with=${ready}`, shows: "more.py, added" },
  "the audit log": { path: () => "/audit", shows: "TrafficService/SetTraffic" },
  usage: { path: () => "/usage?figure=cpu", shows: "CPU seconds over time" },
  environments: { path: () => "/settings/environments", shows: "additional_env_vars: {}" },
  secrets: { path: () => "/settings/secrets", shows: "API_KEY" },
  integrations: { path: () => "/settings/integrations", shows: "CLOSED_PGDATABASE, CLOSED_PGHOST" },
  webhooks: { path: () => "/settings/webhooks", shows: "https://hooks.example.com/events" },
  "a delivery to a webhook": { path: () => "/settings/webhooks?delivery=job_told", shows: '"reason": "<img src=x onerror=' },
  "service tokens": { path: () => "/settings/service-tokens", shows: /^<img/ },
  clients: { path: () => "/settings/clients", shows: "this one" },
  sessions: { path: () => "/settings/sessions", shows: "this one" },
  permissions: { path: () => "/settings/permissions", shows: "query.offline" },
  "what is kept": { path: () => "/settings/kept", shows: "trace_retention, trace_storage" },
  connections: { path: () => "/settings/connections", shows: "svc offline-store connection create" },
};

describe.skipIf(lacksBrowser())("a server at work", () => {
  const folder = new TempFolder();
  let server: TestServer;
  let browser: Browser;
  let tab: Tab;
  let made: Operated;
  const base = () => `${server.url}/environments/${server.credentials.environmentId}`;
  const open = async (path: string) => {
    await tab.page.goto(base() + path);
    await settled(tab.page);
  };

  beforeAll(async () => {
    [server, browser] = await Promise.all([TestServer.start(folder.path), launchBrowser()]);
    made = await operate(server);
    const { environmentId } = server.credentials;
    const store = createSqliteMetadataStore({ path: join(folder.path, "data/meta.db"), programVersion: "v0.0.0-test" });
    const limits = { payload: {}, maxAttempts: 1, attemptTimeoutMs: 60_000, delayMs: 86_400_000 };
    await store.jobs.enqueue({ id: "job_waits", kind: "deployment", scope: environmentId, ...limits });
    await store.close();
    await keepDelivery(server, folder.path);
    tab = await openTab(browser, server.url);
    await logIn(tab, server, await server.token());
    await settled(tab.page);
  }, 300_000);
  afterAll(async () => {
    await tab?.[Symbol.asyncDispose]();
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test.each(Object.entries(ROWS))(
    "%s",
    async (_, { hasColumnsOfData, path, shows }) => {
      const { complaints, page } = tab;
      for (const [colorScheme, width] of [["light", 1280] as const, ["dark", 420] as const]) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 800 });
        await open(path(made));
        await page.getByText(shows).first().waitFor();
        expect(await page.locator("h1").count()).toBe(1);
        expect(await page.title()).toEndWith(" - svc");
        expect(await page.title()).not.toStartWith("owned");
        expect(await page.locator("main img, main script, main iframe").count()).toBe(0);
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
        if (width === 1280 && !hasColumnsOfData) expect(await widerThanTheirPlace(page)).toEqual([]);
        expect(await violations(page)).toEqual([]);
        expect(complaints.splice(0)).toEqual([]);
      }
      await page.setViewportSize({ width: 1280, height: 800 });
    },
    300_000,
  );

  test("a line opens in place, and a field of it narrows the search", async () => {
    const { page } = tab;
    await open("/logs?q=asked");
    await page.getByRole("button", { name: /asked for 20/ }).click();
    await page.getByRole("button", { name: "Only query_name browse" }).click();
    await page.waitForURL(/q=asked\+query_name%3Abrowse/);
    expect(await page.getByRole("searchbox").inputValue()).toBe("asked query_name:browse");
    await open("/logs?q=asked");
    await page.getByRole("button", { name: /asked for 20/ }).click();
    await page.getByRole("link", { name: "Lines around it" }).click();
    await page.locator(".log-line.meant").waitFor();
    expect(await page.locator(".log-line.meant").first().textContent()).toContain("asked for 20");
  }, 300_000);

  test("a search that is wrong says where, and asks nothing", async () => {
    const { page } = tab;
    await open("/logs?q=level:nothing");
    expect(await page.getByRole("alert").textContent()).toContain("'nothing' is no level");
    expect(await page.getByRole("alert").locator("mark").textContent()).toBe("nothing");
    expect(await page.locator(".log-line").count()).toBe(0);
  });

  test("a tail stands still while one reads, and goes on", async () => {
    const { page } = tab;
    await open("/logs?follow=yes");
    await page.locator(".log-line").first().waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: /^Go on/ }).click();
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.locator(".log-head").first().click();
    await page.getByRole("button", { name: /^Go on/ }).waitFor();
    await page.getByRole("button", { name: "Stop following" }).click();
    await page.getByRole("group", { name: "Range" }).waitFor();
  }, 300_000);

  test("an expression is completed and evaluated by keyboard, and a wrong one is told with its place", async () => {
    const { page } = tab;
    await open("/metrics");
    const box = page.getByRole("combobox", { name: "Expression" });
    await box.focus();
    await page.keyboard.type("p99:query.lat");
    await page.getByRole("option", { name: "p99:query.latency" }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    expect(await box.inputValue()).toBe("p99:query.latency");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "p99:query.latency" }).waitFor();
    expect(new URL(page.url()).searchParams.get("e")).toBe("p99:query.latency");
    await box.fill("p99:query.nothing");
    await page.keyboard.press("Enter");
    expect(await page.getByRole("alert").textContent()).toContain("Column 5");
  }, 300_000);

  test("a traced value of a chart leads to its trace", async () => {
    const { page } = tab;
    const asked = server.client(QueryService);
    const inputs = [{ feature: "user.id", value: { case: "text", value: "1" } } as const];
    const { meta } = await asked.query({ inputs, outputs: ["user.score"], queryName: "traced", trace: true, includeMeta: true });
    await open("/metrics?e=p99%3Aquery.latency%7Bquery_name%3Atraced%7D");
    await page.getByText("Traces of the highest values:").first().waitFor();
    const link = page.locator(".traced a").first();
    expect(await link.getAttribute("href")).toEndWith(`/traces/${meta?.traceId}`);
    await page.locator(".chart canvas").first().waitFor();
    expect(await violations(page)).toEqual([]);
    await link.click();
    await page.getByRole("heading", { level: 1, name: `Trace ${meta?.traceId}` }).waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("an expression is pinned as a chart of the project, and unpinned", async () => {
    const { page } = tab;
    await open("/metrics?e=sum%3Aquery.count&range=6h");
    await page.getByRole("button", { name: /^Pin/ }).click();
    const dialog = page.getByRole("dialog", { name: "Keep the chart with the project?" });
    await dialog.getByLabel("Title").fill("<b>mine</b>");
    await dialog.getByText(/--expression sum:query.count --range 6h /).waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Pin" }).click();
    await page.getByRole("tab", { name: "Project" }).waitFor();
    const { charts } = await server.client(MetricService).listCharts({});
    expect(charts[0]).toMatchObject({ name: "<b>mine</b>", range: { seconds: 21_600n }, series: [{ expression: "sum:query.count" }] });
    await open("/metrics");
    await page.getByRole("heading", { name: "<b>mine</b>" }).waitFor();
    await page.getByRole("button", { name: /^Unpin/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Unpin" }).click();
    await page.getByRole("tab", { name: "Project" }).waitFor({ state: "detached" });
    expect((await server.client(MetricService).listCharts({})).charts[0]?.board).toBe("queries");
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("a monitor is tested over the last week, silenced with a reason, and heard again", async () => {
    const { page } = tab;
    await open("/monitors");
    await page.getByRole("link", { name: "busy" }).click();
    await page.getByRole("heading", { name: "Monitor busy" }).waitFor();
    await page.getByRole("button", { name: "Test against the last 7d" }).click();
    await page
      .getByRole("status")
      .getByText(/ evaluations every 10m: \d+ beyond the bound/)
      .waitFor();
    await page.getByRole("button", { name: "Silence: Silence busy" }).click();
    const dialog = page.getByRole("dialog", { name: "Silence busy?" });
    await dialog.getByRole("combobox").selectOption("3600");
    await dialog.getByLabel("Why, for others").fill("a known load");
    await dialog.getByText(/^svc monitors silence busy --for 1h --reason 'a known load' /).waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Silence", exact: true }).click();
    await page.getByText(/: a known load$/).waitFor();
    const { monitors } = await server.client(MonitorService).listMonitors({});
    expect(monitors.find(({ monitor }) => monitor?.name === "busy")?.silence?.reason).toBe("a known load");
    await page.getByRole("button", { name: /^End silence/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "End silence" }).click();
    await page.getByRole("button", { name: "Silence: Silence busy" }).waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("a stream is paused, given a message, moved past it, and its dead letters computed again", async () => {
    const { page } = tab;
    await open("/streams");
    await page
      .getByRole("row", { name: /payments\.on_payment/ })
      .getByRole("link")
      .click();
    await page.getByRole("heading", { level: 1, name: `Stream ${made.stream}` }).waitFor();
    const details = page.getByRole("main");
    const facts = page.locator("main .facts");
    await details.getByRole("row").nth(3).waitFor();
    const within = await details
      .getByRole("button")
      .evaluateAll((all) => all.every((one) => one.getBoundingClientRect().right <= innerWidth));
    expect(within).toBe(true);
    await facts.getByText("running", { exact: true }).waitFor();
    expect(await details.getByRole("table", { name: "Dead letters" }).getByRole("row").count()).toBe(4);
    await details.getByText(/raised ValueError: .*<img src=x/).waitFor();
    await details.getByText("expected int with max=1000", { exact: false }).waitFor();
    await details.getByText(/^{"id":4,"shop":7,"amount":10000/).waitFor();
    const act = async (verb: string, command: string) => {
      await details.getByRole("button", { name: new RegExp(`^${verb}:`) }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByText(command).waitFor();
      expect(await violations(page)).toEqual([]);
      await dialog.getByRole("button", { name: verb, exact: true }).click();
      await dialog.waitFor({ state: "detached" });
    };
    await act("Pause", `svc streams pause ${made.stream}`);
    await facts.getByText("paused", { exact: true }).waitFor();
    await eventually(async () => {
      const { stream } = await server.client(StreamService).getStream({ name: made.stream });
      return stream?.partitions.every(({ node }) => node === "") === true;
    }, "no node reads it");
    await details.getByRole("button", { name: /^Push:/ }).click();
    await page.getByRole("dialog").getByLabel("Message").fill('{"id": 9, "shop": 8, "amount": 1, "at": "2024-05-01T12:00:00Z"}');
    await page.getByRole("dialog").getByRole("button", { name: "Push", exact: true }).click();
    await facts.getByText("1 messages", { exact: true }).waitFor();
    await act("Seek", `svc streams seek ${made.stream} --to latest`);
    await facts.getByText("0 messages", { exact: true }).waitFor();
    await act("Resume", `svc streams resume ${made.stream}`);
    await facts.getByText("running", { exact: true }).waitFor();
    await act("Replay", `svc streams dead-letters replay ${made.stream}`);
    await page.getByText("0 stored, 3 failed again.").waitFor();
    await details.getByRole("link", { name: "payment.amount" }).click();
    await page.getByRole("heading", { level: 1, name: "payment.amount" }).waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("a kept aggregate is backfilled, once its plan was looked at", async () => {
    const { page } = tab;
    await open("/aggregates");
    const row = page.getByRole("row", { name: /shop\.visited/ });
    await row.getByText("15 * * * *").waitFor();
    await row.getByText("1 group", { exact: false }).waitFor();
    await row.getByText(/^from/).waitFor();
    // A stream that was moved has not told yet.
    await page.getByRole("row", { name: /shop\.spend.*(by a stream|in part)/ }).waitFor();
    const button = row.getByRole("button", { name: "Backfill: Backfill shop.visited" });
    expect(await button.evaluate((one) => one.getBoundingClientRect().right <= innerWidth)).toBe(true);
    await button.click();
    const dialog = page.getByRole("dialog", { name: "Backfill shop.visited?" });
    await dialog.getByLabel("From").fill("yesterday");
    await dialog.getByRole("button", { name: "Show the plan" }).click();
    await dialog.getByText("'yesterday' is no time with its zone.").waitFor();
    expect(await dialog.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0);
    const hour = Math.floor(Date.now() / 3_600_000);
    const [from = "", until = ""] = [hour - 48, hour - 24].map((at) => new Date(at * 3_600_000).toISOString());
    await dialog.getByLabel("From").fill(from);
    await dialog.getByLabel("Until").fill(until);
    await dialog.getByLabel("Count rows in the plan").check();
    await dialog.getByRole("button", { name: "Show the plan" }).click();
    await dialog.getByText(/^payments\.visits: \d+ rows, 24 buckets of each group, at most \d+ tiles/).waitFor();
    const flags = `--lower-bound ${from} --upper-bound ${until}`;
    await dialog.getByText(`svc aggregate backfill --feature shop.visited ${flags} --dry-run --exact --environment=default`).waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Backfill", exact: true }).click();
    await page.waitForURL((url) => /\/runs\/job_/.test(url.pathname));
    await page.getByText("completed", { exact: true }).first().waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("weights whose sum is not 100 are refused in place; others are set once one agrees", async () => {
    const { page } = tab;
    await open("/traffic");
    const stable = page.getByRole("textbox", { name: "Percent of queries of stable" });
    await stable.fill("40");
    await page.getByText("The weights add up to 110, not to 100.").waitFor();
    expect(await page.getByRole("button", { name: /^Set weights/ }).count()).toBe(0);
    await page.getByRole("textbox", { name: "Percent of queries of canary" }).fill("60");
    await page.getByRole("button", { name: /^Set weights/ }).click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.textContent()).toContain("svc traffic set --tags canary=60,stable=40");
    await dialog.getByRole("button", { name: "Set weights" }).click();
    await page.getByText("The weights are set.").waitFor();
    await page.reload();
    await settled(page);
    expect(await stable.inputValue()).toBe("40");
  }, 300_000);

  test("a secret is revealed alone, and that is in the audit log", async () => {
    const { page } = tab;
    await open("/settings/secrets");
    expect(await page.getByText("secret-<img").count()).toBe(0);
    await page.getByRole("button", { name: "Reveal API_KEY" }).click();
    await page.getByText("secret-<img").waitFor();
    await page.getByRole("button", { name: "Hide API_KEY" }).click();
    expect(await page.getByText("secret-<img").count()).toBe(0);
    await open("/audit?endpoint=Reveal");
    await page.getByText("SecretService/RevealSecrets").waitFor();
  }, 300_000);

  test("features show how they are used, in the columns that are wanted, and are saved as a file", async () => {
    const { page } = tab;
    await open("/features?q=user.");
    const cell = (column: number) =>
      page
        .getByRole("row", { name: /^user\.name/ })
        .getByRole("cell")
        .nth(column);
    await eventually(async () => Number(await cell(3).textContent()) > 0, "values that were asked for");
    expect(await cell(4).textContent()).toBe("0 %");
    const heads = () => page.getByRole("columnheader").allTextContents();
    const before = await heads();
    await page.getByText("Columns", { exact: true }).click();
    await page.getByLabel("Kind").uncheck();
    expect(await heads()).toEqual(before.filter((title) => title !== "Kind"));
    expect(await violations(page)).toEqual([]);
    const held = Promise.withResolvers<void>();
    await page.route("**/svc.v1.MetricService/QueryMetric", async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.reload();
    await settled(page);
    expect(await heads()).not.toContain("Kind");
    const save = page.getByRole("button", { name: "Save as CSV" });
    expect(await save.isDisabled()).toBe(true);
    held.resolve();
    const [download] = await Promise.all([page.waitForEvent("download"), save.click()]);
    await page.unrouteAll({ behavior: "wait" });
    const [head, ...lines] = (await Bun.file(await download.path()).text()).trimEnd().split(/\r?\n/);
    expect(head).toStartWith("fqn,kind,type,asked_24h,null_share");
    expect(lines.find((line) => line.startsWith("user.name,"))).toMatch(/^user\.name,value,str,\d+,0,/);
    await page.getByRole("searchbox", { name: "Search features" }).fill("user. unused:");
    await eventually(async () => (await page.getByRole("row", { name: /^user\.name/ }).count()) === 0, "used features are left out");
    await page.getByRole("searchbox", { name: "Search features" }).fill("stale:soon");
    await page.getByRole("alert").getByText("An age is written", { exact: false }).waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("an integration is added on the page of sources, and is a source then", async () => {
    const { page } = tab;
    await open("/sources");
    await page
      .getByRole("row", { name: /^payments/ })
      .getByText("read", { exact: true })
      .waitFor();
    await page.getByRole("button", { name: /^Add:/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name", { exact: true }).fill("ware house");
    await dialog.getByLabel("Kind").selectOption("clickhouse");
    await dialog.getByLabel(/^CLICKHOUSE_HOST/).fill("ch.example.com");
    await dialog.getByLabel(/^CLICKHOUSE_PASSWORD/).fill("not to be seen");
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    await dialog.getByRole("alert").waitFor();
    await dialog.getByLabel("Name", { exact: true }).fill("warehouse");
    await dialog.getByRole("button", { name: "Add", exact: true }).click();
    await dialog.waitFor({ state: "detached" });
    await page
      .getByRole("row", { name: /^warehouse/ })
      .getByText("not asked")
      .waitFor();
    await page.getByRole("link", { name: "warehouse" }).click();
    await page.getByRole("heading", { level: 1, name: "Source warehouse" }).waitFor();
    await page.getByText("WAREHOUSE_CLICKHOUSE_HOST", { exact: false }).waitFor();
    expect(await page.locator("main").textContent()).not.toContain("not to be seen");
    await page.getByRole("button", { name: /^Delete:/ }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("warehouse");
    await page.getByRole("dialog").getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("There is no source of this name", { exact: false }).waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("an integration is tested, and one that cannot be used says why", async () => {
    const { page } = tab;
    await open("/settings/integrations");
    const row = page.getByRole("row", { name: /postgresql/ });
    await row.getByRole("button", { name: /^Test: Test closed/ }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText(/^svc integration test closed /).waitFor();
    await dialog.getByRole("button", { name: "Test", exact: true }).click();
    await dialog.getByRole("alert").getByText("closed cannot be used:", { exact: false }).waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("the secret of a service token is shown once", async () => {
    const { page } = tab;
    await open("/settings/service-tokens");
    await page.getByRole("button", { name: "Make a service token" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("ci");
    await page.getByRole("dialog").getByRole("button", { name: "Make", exact: true }).click();
    const shown = page.getByRole("dialog", { name: "Service token ci" });
    await shown.waitFor();
    const secret = (await shown.locator("dd code").nth(1).textContent()) ?? "";
    expect(secret.length).toBeGreaterThan(20);
    await shown.getByRole("button", { name: "Close" }).click();
    await page.reload();
    await settled(page);
    await page.getByText("ci", { exact: true }).waitFor();
    expect(await page.content()).not.toContain(secret);
  }, 300_000);

  test("a schedule shows its next runs in both times and its last ones, is paused and resumed, and stays so", async () => {
    const { page } = tab;
    await open("/schedules");
    const row = page.getByRole("row", { name: /resolvers\.known/ });
    expect(await row.locator("time[datetime]").count()).toBe(6);
    const [local, utc] = await Promise.all(
      [3, 4].map((column) =>
        row
          .getByRole("cell")
          .nth(column)
          .locator("time")
          .evaluateAll((all) => all.map((one) => one.textContent ?? "")),
      ),
    );
    // The tab's zone is five and a half hours ahead.
    const isSame = (local ?? []).map(
      (text, at) => Date.parse(`${text.replace(" ", "T")}+05:30`) === Date.parse(`${utc?.[at]?.replace(" ", "T")}Z`),
    );
    expect(isSame).toEqual([true, true, true]);
    await row.getByRole("img", { name: "Last runs of resolvers.known: 1 of 1 good" }).waitFor();
    await page
      .getByRole("row", { name: /scores/ })
      .getByText("none yet")
      .waitFor();
    await row.getByRole("button", { name: "Pause: Pause resolvers.known" }).click();
    expect(await page.getByRole("dialog").textContent()).toContain("svc scheduled-resolver pause resolvers.known");
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await row.getByText("paused", { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.reload();
    await settled(page);
    await row.getByText("paused", { exact: true }).waitFor();
    expect(await row.locator("time[datetime]").count()).toBe(0);
    await row.getByRole("button", { name: "Resume: Resume resolvers.known" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume" }).click();
    await row.locator("time[datetime]").first().waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("a run is made again with changes, by a form that is filled with what it was", async () => {
    const { page } = tab;
    await open(`/runs/${made.resolverRun}`);
    await page.getByRole("button", { name: "Run again" }).click();
    const dialog = page.getByRole("dialog", { name: "Run resolvers.known again" });
    expect(await dialog.getByLabel("Store online").isChecked()).toBe(true);
    await dialog.getByLabel("Only inputs before").fill("yesterday");
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    await dialog.getByText("'yesterday' is no time with its zone.").waitFor();
    await dialog.getByLabel("Only inputs before").fill("");
    await dialog.getByLabel("Store offline").uncheck();
    await dialog.getByText("svc trigger --resolver resolvers.known --persist-online=true --persist-offline=false").waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Run", exact: true }).click();
    await page.waitForURL((url) => /\/runs\/job_/.test(url.pathname) && !url.pathname.endsWith(made.resolverRun));
    await page.locator("dt:has-text('Stored') + dd").getByText("online", { exact: true }).waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("an offline query is begun again with changes, by a form that is filled with what it was", async () => {
    const { page } = tab;
    await open(`/runs/${made.offlineQuery}`);
    await page.getByRole("button", { name: "Begin again" }).click();
    const dialog = page.getByRole("dialog", { name: `Begin ${made.offlineQuery} again` });
    expect(await dialog.getByLabel("Outputs, separated by commas").inputValue()).toBe("user.name, user.score");
    expect(await dialog.getByLabel("Computed by resolvers").inputValue()).toBe("all");
    await dialog.getByLabel("Parts side by side").fill("some");
    await dialog.getByRole("button", { name: "Begin", exact: true }).click();
    await dialog.getByText("'some' is no number of parts or rows.").waitFor();
    await dialog.getByLabel("Parts side by side").fill("2");
    await dialog.getByLabel("Outputs, separated by commas").fill("user.score");
    await dialog.getByText(`svc offline-query retry ${made.offlineQuery} --out user.score --num-shards 2`).waitFor();
    expect(await violations(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Begin", exact: true }).click();
    await page.waitForURL((url) => /\/runs\/ofq_/.test(url.pathname) && !url.pathname.endsWith(made.offlineQuery));
    await page.locator("dt:has-text('Outputs') + dd").getByText("user.score", { exact: true }).waitFor();
    await page.locator("dt:has-text('Again') + dd").getByText(made.offlineQuery).waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("a job that waits is put before others, and one that has ended is not", async () => {
    const { page } = tab;
    await open("/runs/job_waits");
    await page.getByRole("button", { name: /^Set priority/ }).click();
    const dialog = page.getByRole("dialog", { name: /^Set the priority of job \d+\?$/ });
    const set = dialog.getByRole("button", { name: "Set priority" });
    await dialog.getByRole("spinbutton").fill("101");
    await set.click();
    expect(await dialog.getByRole("spinbutton").evaluate((input: HTMLInputElement) => input.validity.rangeOverflow)).toBe(true);
    await dialog.getByRole("spinbutton").fill("-7");
    await dialog.getByText(/^svc jobs set-priority \d+ -7 /).waitFor();
    expect(await violations(page)).toEqual([]);
    await set.click();
    await page.locator("dt:has-text('Priority') + dd").getByText("-7", { exact: true }).waitFor();
    await open(`/runs/${made.resolverRun}`);
    await page.getByText("known users").first().waitFor();
    expect(await page.getByRole("button", { name: /^Set priority/ }).count()).toBe(0);
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("what cannot be undone asks for its name, and Escape does nothing", async () => {
    const { page } = tab;
    await open("/branches");
    const button = page.getByRole("button", { name: "Delete: Delete branch experiment" });
    await button.click();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByRole("button", { name: "Delete", exact: true }).isDisabled()).toBe(true);
    await page.keyboard.press("Escape");
    expect(await dialog.count()).toBe(0);
    await button.click();
    await dialog.getByRole("textbox").fill("experiment");
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("There are none yet.").waitFor();
  }, 300_000);

  test("without the permission for it nothing is offered that would be refused", async () => {
    await using viewer = await openTab(browser, server.url);
    await logIn(viewer, server, await server.token(), "/", { readOnly: true });
    for (const [path, name] of [
      ["/settings/secrets", /Reveal|Set a secret|Delete/],
      ["/settings/integrations", /Test|Delete/],
      ["/settings/service-tokens", /Make|Delete/],
      ["/traffic", /Set|Promote|Suspend/],
      ["/schedules", /Run now|Pause/],
      ["/aggregates", /Backfill/],
      ["/streams", /Pause|Seek|Push|Replay/],
      [`/runs/${made.offlineQuery}`, /Begin again/],
      [`/runs/${made.task}`, /Run again/],
      [`/evals/${encodeURIComponent(made.evaluation)}`, /^Run/],
      ["/runs/job_waits", /Set priority/],
      [`/deployments/${made.live}`, /Roll back/],
    ] as const) {
      await viewer.page.goto(base() + path);
      await settled(viewer.page);
      expect(await viewer.page.locator("main").getByRole("button", { name }).count()).toBe(0);
    }
    await viewer.page.goto(`${base()}/settings/service-tokens`);
    await viewer.page.getByRole("alert").first().waitFor();
    expect(viewer.complaints).toEqual([]);
  }, 300_000);
});
