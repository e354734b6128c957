/**
 * Screenshots of the dashboard for people to look at: `bun test/browser/shots.ts FOLDER [NAME]`.
 * They are compared with nothing.
 */

import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Page } from "playwright-core";
import { launchBrowser } from "../harness/browser.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { type Deployed, deployHostile } from "./hostile-project.ts";
import { type Operated, operate } from "./operated-project.ts";
import { logIn, openTab, settled } from "./tab.ts";

interface Shot<Made> {
  readonly name: string;
  /** Path without the environment; `/` at the beginning of one with it is left to the page. */
  readonly path: (made: Made) => string;
  /** What is done before it is taken. */
  readonly prepare?: (page: Page) => Promise<void>;
  readonly isWhole?: boolean;
  /** Whether its page belongs to no environment. */
  readonly isOfServer?: boolean;
}

const SHOTS: readonly Shot<Deployed>[] = [
  { name: "overview", path: () => "/" },
  { name: "features", path: () => "/features" },
  { name: "feature", path: () => "/features/user.greeting", isWhole: true },
  { name: "lineage", path: () => "/graph?node=feature:user.name" },
  { name: "resolver", path: () => "/resolvers/resolvers.greet", isWhole: true },
  {
    name: "query",
    path: () => "/query?in=user.id%3D1&with=explain,trace",
    isWhole: true,
    async prepare(page) {
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByRole("heading", { name: "Trace" }).waitFor();
    },
  },
  {
    name: "query-comparison",
    path: ({ ready }) => `/query?in=user.id%3D1&out=user.name&out=user.greeting&against=deployment:${ready}`,
    async prepare(page) {
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await page.getByRole("region", { name: "Comparison" }).or(page.getByRole("alert")).first().waitFor();
    },
  },
  { name: "query-runs", path: () => "/query-runs" },
  { name: "query-run", path: ({ queryRun }) => `/query-runs/${queryRun}`, isWhole: true },
  { name: "traces", path: () => "/traces" },
  { name: "trace", path: ({ trace }) => `/traces/${trace}` },
  { name: "errors", path: () => "/errors" },
  { name: "deployments", path: () => "/deployments" },
  { name: "deployment", path: ({ ready }) => `/deployments/${ready}`, isWhole: true },
  { name: "deployment-failed", path: ({ failed }) => `/deployments/${failed}`, isWhole: true },
  { name: "deployment-compared", path: ({ live, ready }) => `/deployments/${live}?with=${ready}`, isWhole: true },
  { name: "traffic", path: () => "/traffic" },
  { name: "metrics", path: () => "/metrics", isWhole: true },
  { name: "monitors", path: () => "/monitors" },
  { name: "kept", path: () => "/settings/kept" },
  { name: "gallery", path: () => "/gallery", isWhole: true, isOfServer: true },
  { name: "nothing-here", path: () => "/nothing" },
  {
    name: "palette",
    path: () => "/features",
    async prepare(page) {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: /^Page, feature/ }).waitFor();
      await page.keyboard.type("de");
    },
  },
  {
    name: "keys",
    path: () => "/features",
    async prepare(page) {
      await page.keyboard.press("?");
      await page.getByRole("dialog").waitFor();
    },
  },
  {
    name: "account",
    path: () => "/features",
    prepare: (page) => page.locator("summary", { hasText: "Account and theme" }).click(),
  },
  {
    name: "promote",
    path: ({ ready }) => `/deployments/${ready}`,
    prepare: (page) => page.getByRole("button", { name: "Promote" }).click(),
  },
];

/** Those of a server at work. */
const SHOTS_AT_WORK: readonly Shot<Operated>[] = [
  { name: "busy-overview", path: () => "/", isWhole: true },
  { name: "schedules", path: () => "/schedules", isWhole: true },
  { name: "feature-values", path: () => "/features/user.score", isWhole: true },
  { name: "resolvers", path: () => "/resolvers" },
  { name: "lineage-latency", path: () => "/graph?colour=latency" },
  { name: "runs", path: () => "/runs" },
  { name: "runs-offline", path: () => "/runs?kind=offline" },
  { name: "runs-tasks", path: () => "/runs?kind=tasks" },
  { name: "runs-workflows", path: () => "/runs?kind=workflows" },
  { name: "runs-jobs", path: () => "/runs?kind=jobs" },
  { name: "evaluation", path: ({ evaluation }) => `/evals/${encodeURIComponent(evaluation)}`, isWhole: true },
  {
    name: "evaluation-run",
    path: ({ evaluation, evaluationRuns: [first, second] }) => `/evals/${encodeURIComponent(evaluation)}/runs/${second}?with=${first}`,
    isWhole: true,
  },
  { name: "run", path: ({ offlineQuery }) => `/runs/${offlineQuery}`, isWhole: true },
  {
    name: "run-again",
    path: ({ offlineQuery }) => `/runs/${offlineQuery}`,
    prepare: (page) => page.getByRole("button", { name: "Begin again" }).click(),
  },
  { name: "run-resolver", path: ({ resolverRun }) => `/runs/${resolverRun}`, isWhole: true },
  { name: "run-task", path: ({ task }) => `/runs/${task}`, isWhole: true },
  { name: "datasets", path: () => "/datasets" },
  { name: "dataset", path: ({ dataset }) => `/datasets/${encodeURIComponent(dataset)}` },
  { name: "dataset-rows", path: ({ dataset }) => `/datasets/${encodeURIComponent(dataset)}?tab=rows` },
  { name: "dataset-files", path: ({ dataset }) => `/datasets/${encodeURIComponent(dataset)}?tab=files` },
  { name: "branches", path: () => "/branches" },
  { name: "sources", path: () => "/sources", isWhole: true },
  { name: "source", path: () => "/sources/payments", isWhole: true },
  { name: "source-database", path: () => "/sources/closed", isWhole: true },
  { name: "streams", path: () => "/streams", isWhole: true },
  { name: "stream", path: ({ stream }) => `/streams/${stream}`, isWhole: true },
  { name: "aggregates", path: () => "/aggregates", isWhole: true },
  {
    name: "aggregates-plan",
    path: () => "/aggregates",
    async prepare(page) {
      await page.getByRole("button", { name: "Backfill: Backfill shop.visited" }).click();
      await page.getByRole("button", { name: "Show the plan" }).click();
      await page.getByRole("dialog").getByText("Reads").or(page.getByRole("alert")).first().waitFor();
    },
  },
  { name: "feature-options", path: () => "/features/payment.amount", isWhole: true },
  { name: "run-backfill", path: ({ backfill }) => `/runs/${backfill}`, isWhole: true },
  { name: "traffic-weights", path: () => "/traffic", isWhole: true },
  { name: "busy-metrics", path: () => "/metrics", isWhole: true },
  { name: "expression", path: () => "/metrics?e=count:query.latency%20by%20%7Bquery_name%7D", isWhole: true },
  { name: "logs", path: () => "/logs" },
  { name: "logs-followed", path: () => "/logs?follow=yes" },
  { name: "requests", path: () => "/logs?tab=requests" },
  { name: "monitor", path: () => "/monitors/busy", isWhole: true },
  { name: "audit", path: () => "/audit" },
  { name: "usage", path: () => "/usage?figure=cpu", isWhole: true },
  ...["environments", "secrets", "integrations", "webhooks", "service-tokens", "clients", "sessions", "permissions", "connections"].map(
    (section) => ({
      name: `settings-${section}`,
      path: () => `/settings/${section}`,
      isWhole: true,
    }),
  ),
];

/** Those of a server to which nothing was deployed. */
const EMPTY_SHOTS: readonly Shot<undefined>[] = [
  ...["features", "graph", "resolvers", "named-queries", "query", "query-runs", "runs", "schedules", "datasets", "deployments", "branches"],
  ...["traffic", "traces", "errors", "metrics", "monitors", "logs", "audit", "usage", "settings/secrets", "settings/webhooks"],
].map((page) => ({ name: `empty-${page.replace("settings/", "")}`, path: () => `/${page}` }));

/** Part of the names of the shots that are wanted; default: all. */
const wanted = process.argv[3] ?? "";
const out = resolve(process.argv[2] ?? "shots");
mkdirSync(out, { recursive: true });
using folder = new TempFolder();
await using server = await TestServer.start(folder.path);
await using browser = await launchBrowser();
const token = await server.token();

async function take(page: Page, name: string, isWhole = false): Promise<void> {
  await settled(page);
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: join(out, `${name}.png`), fullPage: isWhole });
}

{
  await using tab = await openTab(browser, server.url);
  await tab.page.goto(`${server.url}/features`);
  await take(tab.page, "not-logged-in");
  await logIn(tab, server, token);
  await take(tab.page, "overview-fresh");
}
await takeAll(server, EMPTY_SHOTS, undefined);
await takeAll(server, SHOTS, await deployHostile(server));
using folderAtWork = new TempFolder();
await using serverAtWork = await TestServer.start(folderAtWork.path);
await takeAll(serverAtWork, SHOTS_AT_WORK, await operate(serverAtWork));
console.log(`Screenshots in ${out}`);

/** Takes shots in both themes and widths. */
async function takeAll<Made>(of: TestServer, shots: readonly Shot<Made>[], made: Made): Promise<void> {
  for (const theme of ["light", "dark"] as const) {
    for (const width of [1280, 420]) {
      await using tab = await openTab(browser, of.url, { theme, width });
      await logIn(tab, of, await of.token());
      await settled(tab.page);
      for (const { isOfServer, isWhole, name, path, prepare } of shots.filter((shot) => shot.name.includes(wanted))) {
        const scope = isOfServer ? "" : `/environments/${of.credentials.environmentId}`;
        await tab.page.goto(of.url + scope + path(made));
        await settled(tab.page);
        await prepare?.(tab.page);
        await take(tab.page, `${name}-${theme}-${width}`, isWhole);
      }
    }
  }
}
