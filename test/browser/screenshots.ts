/** Screenshots of the dashboard for people to look at. They are compared with nothing. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { MonitorService, MonitorState } from "../../gen/svc/v1/monitor_pb.ts";
import { largeProject } from "../bench/generate-project.ts";
import { launchBrowser } from "../harness/browser.ts";
import { eventually } from "../harness/eventually.ts";
import { lacksPodman, startPodman } from "../harness/podman.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { deploy, expectLive } from "../server/deployments/deploying.ts";
import { type Contained, contain, empty, startContained, untilMeasured } from "./contained.ts";
import { type Deployed, deployHostile } from "./hostile-project.ts";
import { type Operated, operate } from "./operated-project.ts";
import { logIn, openTab, settled } from "./tab.ts";
import { keepDelivery, TOLD } from "./told-delivery.ts";

/** A theme, and widths of a window in pixels. */
type Theme = "light" | "dark";
const THEMES = ["light", "dark"] as const;
const WIDE = 1280;
const NARROW = 420;
const WIDTHS = [WIDE, NARROW] as const;

interface Shot<Made> {
  readonly name: string;
  /** Path without the environment; `/` at the beginning of one with it is left to the page. */
  readonly path: (made: Made) => string;
  /** What is done before it is taken. */
  readonly prepare?: (page: Page) => Promise<void>;
  readonly isWhole?: boolean;
  /** Whether its page belongs to no environment. */
  readonly isOfServer?: boolean;
  /** Widths at which every run of the tests keeps it; absent = it is taken on request alone. */
  readonly kept?: readonly number[];
}

const SHOTS: readonly Shot<Deployed>[] = [
  { name: "overview", path: () => "/" },
  { name: "features", path: () => "/features", kept: [WIDE] },
  { name: "feature", path: () => "/features/user.greeting", isWhole: true },
  { name: "lineage", path: () => "/graph?node=feature:user.name" },
  { name: "resolver", path: () => "/resolvers/resolvers.greet", isWhole: true },
  {
    name: "query",
    kept: [WIDE],
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
  { name: "query-run", path: ({ queryRun }) => `/query-runs/${queryRun}`, isWhole: true, kept: [WIDE, NARROW] },
  { name: "traces", path: () => "/traces" },
  { name: "trace", path: ({ trace }) => `/traces/${trace}` },
  { name: "errors", path: () => "/errors", kept: [WIDE] },
  { name: "deployments", path: () => "/deployments" },
  { name: "deployment", path: ({ ready }) => `/deployments/${ready}`, isWhole: true },
  { name: "deployment-failed", path: ({ failed }) => `/deployments/${failed}`, isWhole: true },
  { name: "deployment-compared", path: ({ live, ready }) => `/deployments/${live}?with=${ready}`, isWhole: true, kept: [WIDE] },
  { name: "traffic", path: () => "/traffic" },
  { name: "metrics", path: () => "/metrics", isWhole: true },
  { name: "monitors", path: () => "/monitors" },
  { name: "kept", path: () => "/settings/kept" },
  { name: "gallery", path: () => "/gallery", isWhole: true, isOfServer: true, kept: [WIDE] },
  { name: "nothing-here", path: () => "/nothing" },
  {
    name: "palette",
    kept: [WIDE],
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
  { name: "busy-overview", path: () => "/", isWhole: true, kept: [WIDE, NARROW] },
  { name: "schedules", path: () => "/schedules", isWhole: true },
  { name: "feature-values", path: () => "/features/user.score", isWhole: true, kept: [WIDE] },
  { name: "resolvers", path: () => "/resolvers" },
  { name: "resolver-busy", path: () => "/resolvers/resolvers.get_score", isWhole: true, kept: [WIDE] },
  { name: "lineage-45", path: () => "/graph", kept: [WIDE] },
  { name: "lineage-600", path: () => "/graph?branch=wide&fold=no", kept: [WIDE] },
  { name: "lineage-600-classes", path: () => "/graph?branch=wide" },
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
  { name: "run", path: ({ offlineQuery }) => `/runs/${offlineQuery}`, isWhole: true, kept: [WIDE] },
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
  {
    name: "metrics-hover",
    kept: [WIDE],
    path: () => "/metrics",
    async prepare(page) {
      const over = page.locator("main .u-over").first();
      const { width = 0, height = 0 } = (await over.boundingBox()) ?? {};
      await over.hover({ position: { x: width - 8, y: height / 2 } });
    },
  },
  { name: "expression", path: () => "/metrics?e=count:query.latency%20by%20%7Bquery_name%7D", isWhole: true },
  { name: "logs", path: () => "/logs" },
  { name: "logs-followed", path: () => "/logs?follow=yes", kept: [WIDE] },
  { name: "requests", path: () => "/logs?tab=requests" },
  { name: "functions", path: () => "/compute/functions" },
  {
    name: "function",
    path: () => "/compute/functions/shout_loudly",
    isWhole: true,
    async prepare(page) {
      await page.getByRole("textbox", { name: /^Arguments/ }).fill('{"text": ["hello", "there"]}');
      await page.getByRole("button", { name: "Call", exact: true }).click();
      await page.getByText('"HELLO"').waitFor();
    },
  },
  { name: "images", path: () => "/compute/images" },
  { name: "notebooks", path: () => "/notebooks" },
  { name: "evals", path: () => "/evals" },
  { name: "benchmarks", path: () => "/benchmarks" },
  { name: "benchmark", path: ({ benchmarks: [first] }) => `/benchmarks/${first}`, isWhole: true },
  { name: "webhook-delivery", path: () => `/settings/webhooks?delivery=${TOLD}`, isWhole: true },
  { name: "audit", path: () => "/audit" },
  { name: "usage", path: () => "/usage?figure=cpu", isWhole: true },
  ...[
    "environments",
    "secrets",
    "integrations",
    "webhooks",
    "service-tokens",
    "clients",
    "sessions",
    "permissions",
    "connections",
    "export",
    "version",
  ].map((section) => ({
    name: `settings-${section}`,
    path: () => `/settings/${section}`,
    isWhole: true,
    ...(section === "secrets" && { kept: [WIDE] }),
  })),
];

/** Those of a server whose monitor fires. */
const SHOTS_OF_FIRING: readonly Shot<Operated>[] = [
  { name: "monitors-firing", path: () => "/monitors", kept: [WIDE] },
  { name: "monitor", path: () => "/monitors/busy", isWhole: true },
];

/** Those of a server with containers; without Podman there are none. */
const SHOTS_OF_CONTAINERS: readonly Shot<Contained>[] = [
  { name: "containers", path: () => "/compute/containers" },
  { name: "container", path: ({ printer }) => `/compute/containers/${printer}`, isWhole: true, kept: [WIDE] },
  { name: "container-failed", path: ({ failed }) => `/compute/containers/${failed}`, isWhole: true },
  { name: "scaling-groups", path: () => "/compute/scaling-groups" },
  { name: "scaling-group", path: () => "/compute/scaling-groups/site", isWhole: true, kept: [WIDE, NARROW] },
  {
    name: "scaling-group-scale",
    path: () => "/compute/scaling-groups/site",
    prepare: (page) => page.getByRole("button", { name: /^Scale/ }).click(),
  },
  { name: "sandboxes", path: () => "/compute/sandboxes" },
  {
    name: "sandbox",
    path: ({ sandbox }) => `/compute/sandboxes/${sandbox}`,
    isWhole: true,
    kept: [WIDE],
    async prepare(page) {
      await page.getByRole("textbox", { name: "Command" }).fill("ls -l /; ls /none");
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await page.getByText(/^exit code/).waitFor();
    },
  },
  { name: "volumes", path: () => "/compute/volumes" },
  { name: "volume", path: () => "/compute/volumes/notes" },
  {
    name: "cluster",
    path: () => "/compute/clusters/clstr_local",
    isWhole: true,
    async prepare(page) {
      await page.getByRole("button", { name: "Test", exact: true }).click();
      await page.getByRole("table", { name: "Checks" }).waitFor();
    },
  },
];

/** Those of a tab whose server does not answer any more. */
const SHOTS_OF_ABSENCE: readonly Shot<undefined>[] = [{ name: "server-away", path: () => "/features", kept: [WIDE] }];

/** Those of a server to which nothing was deployed. */
const EMPTY_SHOTS: readonly Shot<undefined>[] = [
  { name: "overview-fresh", path: () => "/", kept: [WIDE] },
  ...[
    ...[
      "features",
      "graph",
      "resolvers",
      "named-queries",
      "query",
      "query-runs",
      "runs",
      "schedules",
      "datasets",
      "deployments",
      "branches",
    ],
    ...["traffic", "traces", "errors", "metrics", "monitors", "logs", "audit", "usage", "settings/secrets", "settings/webhooks"],
  ].map((page) => ({ name: `empty-${page.replace("settings/", "")}`, path: () => `/${page}` })),
];

/** Which screenshots are taken. */
export interface WantedShots {
  /** Only those that every run of the tests keeps. */
  readonly isKept?: boolean;
  /** Part of their names; default: all. */
  readonly name?: string;
}

/** A server whose pages are taken, in a browser. */
interface Studio {
  readonly browser: Browser;
  readonly server: TestServer;
  readonly folder: string;
  readonly wanted: WantedShots;
}

/** Takes screenshots into a folder. */
export async function takeShots(folder: string, wanted: WantedShots = {}): Promise<void> {
  mkdirSync(folder, { recursive: true });
  await using browser = await launchBrowser();
  await takeContainers(browser, folder, wanted);
  {
    using home = new TempFolder();
    await using server = await TestServer.start(home.path);
    const studio = { browser, server, folder, wanted };
    await takeLoggedOut(studio);
    await takeAll(studio, EMPTY_SHOTS, undefined);
    await takeAll(studio, SHOTS, await deployHostile(server));
  }
  using home = new TempFolder();
  await using server = await TestServer.start(home.path);
  const studio = { browser, server, folder, wanted };
  const operated = await operate(server);
  await keepDelivery(server, home.path);
  expectLive(await deploy(server, largeProject(400), { branch: "wide" }));
  await takeAll(studio, SHOTS_AT_WORK, operated);
  await takeAll(studio, SHOTS_OF_ABSENCE, undefined, async (page) => {
    await page.context().route(/\/svc\.v1\./, (route) => route.abort("connectionrefused"));
  });
  if (SHOTS_OF_FIRING.some((shot) => isWanted(shot, WIDE, wanted))) {
    const monitors = server.client(MonitorService);
    await eventually(
      async () => (await monitors.listMonitors({})).monitors.some(({ state }) => state === MonitorState.FIRING),
      "a monitor fires",
    );
  }
  await takeAll(studio, SHOTS_OF_FIRING, operated);
}

/** Takes those of containers, when they are wanted and there is an engine. */
async function takeContainers(browser: Browser, folder: string, wanted: WantedShots): Promise<void> {
  if (lacksPodman() || !SHOTS_OF_CONTAINERS.some((shot) => WIDTHS.some((width) => isWanted(shot, width, wanted)))) return;
  using home = new TempFolder();
  await using podman = await startPodman();
  await using server = await startContained(home.path, podman);
  const contained = await contain(server);
  await untilMeasured(server);
  await takeAll({ browser, server, folder, wanted }, SHOTS_OF_CONTAINERS, contained);
  await empty(server);
}

function isWanted({ kept = [], name }: Pick<Shot<never>, "kept" | "name">, width: number, wanted: WantedShots): boolean {
  return name.includes(wanted.name ?? "") && (!wanted.isKept || kept.includes(width));
}

async function take({ folder }: Studio, page: Page, name: string, isWhole = false): Promise<void> {
  await settled(page);
  await page.evaluate(() => document.fonts.ready);
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: isWhole });
}

/** Takes what one sees who is not logged in. */
async function takeLoggedOut(studio: Studio): Promise<void> {
  for (const theme of THEMES) {
    const shot = { name: "not-logged-in", kept: [WIDE] };
    if (!isWanted(shot, WIDE, studio.wanted)) return;
    await using tab = await openTab(studio.browser, studio.server.url, { theme, width: WIDE });
    await tab.page.goto(`${studio.server.url}/features`);
    await take(studio, tab.page, `${shot.name}-${theme}-${WIDE}`);
  }
}

/** Takes shots in both themes and widths. */
async function takeAll<Made>(
  studio: Studio,
  all: readonly Shot<Made>[],
  made: Made,
  prepareTab: (page: Page) => Promise<void> = async () => undefined,
): Promise<void> {
  for (const theme of THEMES)
    for (const width of WIDTHS)
      await takeIn(
        studio,
        all.filter((shot) => isWanted(shot, width, studio.wanted)),
        made,
        { theme, width },
        prepareTab,
      );
}

async function takeIn<Made>(
  studio: Studio,
  shots: readonly Shot<Made>[],
  made: Made,
  { theme, width }: { readonly theme: Theme; readonly width: number },
  prepareTab: (page: Page) => Promise<void>,
): Promise<void> {
  const { browser, server } = studio;
  if (shots.length === 0) return;
  await using tab = await openTab(browser, server.url, { theme, width });
  await logIn(tab, server, await server.token());
  await settled(tab.page);
  await prepareTab(tab.page);
  for (const { isOfServer, isWhole, name, path, prepare } of shots) {
    const scope = isOfServer ? "" : `/environments/${server.credentials.environmentId}`;
    await tab.page.goto(server.url + scope + path(made));
    await settled(tab.page);
    await prepare?.(tab.page);
    await take(studio, tab.page, `${name}-${theme}-${width}`, isWhole);
  }
}
