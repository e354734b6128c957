/** What holds of every page, in both themes, on a wide screen and a narrow one. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { PAGE_NAMES } from "../../src/domain/addresses.ts";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { violations } from "./accessibility.ts";
import { type Deployed, deployHostile } from "./hostile-project.ts";
import { ROUTED } from "./routed.ts";
import { logIn, openTab, settled, type Tab } from "./tab.ts";

interface Row {
  /** Path without the environment. */
  readonly path: (deployed: Deployed) => string;
  readonly heading: RegExp;
  /** A text that shows that the data of the fixture is there. */
  readonly shows: string | RegExp;
}

/** One row for each page at least: a page without a row fails the test below. */
const ROWS: Readonly<Record<string, Row>> = {
  overview: { path: () => "", heading: /^Environment default$/, shows: "Latest deployments" },
  features: { path: () => "/features", heading: /^Features$/, shows: "user.greeting" },
  feature: { path: () => "/features/user.greeting", heading: /^user.greeting$/, shows: "Needed by" },
  graph: { path: () => "/graph?node=feature:user.name", heading: /^Lineage$/, shows: "resolvers.greet" },
  resolvers: { path: () => "/resolvers", heading: /^Resolvers$/, shows: "resolvers.get_name" },
  resolver: { path: () => "/resolvers/resolvers.greet", heading: /^resolvers.greet$/, shows: "hello " },
  namedQueries: { path: () => "/named-queries", heading: /^Named queries$/, shows: "An example" },
  namedQuery: { path: () => "/named-queries/none", heading: /^none$/, shows: "no query of this name" },
  sources: { path: () => "/sources", heading: /^Sources$/, shows: "declares no source" },
  source: { path: () => "/sources/none", heading: /^Source none$/, shows: "no source of this name" },
  query: {
    path: () => "/query?in=user.id%3D1&out=user.greeting&out=%3Cb%3E&staleness=user.name%3D1h&with=trace",
    heading: /^Query$/,
    shows: "<b>",
  },
  queryRuns: { path: () => "/query-runs", heading: /^Query runs$/, shows: "partial" },
  queryRun: { path: ({ queryRun }) => `/query-runs/${queryRun}`, heading: /^Query run /, shows: "hello <img" },
  "queryRun that is not there": { path: () => "/query-runs/none", heading: /^Query run none$/, shows: "No such query run" },
  queryRunStage: { path: ({ queryRun }) => `/query-runs/${queryRun}/stages/0`, heading: /^Stage 0$/, shows: "Rows of" },
  traces: { path: () => "/traces", heading: /^Traces$/, shows: "That is all" },
  trace: { path: ({ trace }) => `/traces/${trace}`, heading: /^Trace /, shows: "resolvers.breaks" },
  errors: { path: () => "/errors", heading: /^Errors$/, shows: "resolvers.breaks" },
  "features of a deployment": { path: ({ ready }) => `/features?deployment=${ready}`, heading: /^Features$/, shows: "user.greeting" },
  deployments: { path: () => "/deployments", heading: /^Deployments$/, shows: "failed" },
  deployment: { path: ({ live }) => `/deployments/${live}`, heading: /^Deployment dpl_/, shows: "second line" },
  runs: { path: () => "/runs", heading: /^Runs$/, shows: "There are no runs of resolvers yet" },
  run: { path: () => "/runs/1", heading: /^Job 1$/, shows: "State" },
  schedules: { path: () => "/schedules", heading: /^Schedules$/, shows: "No resolver runs by a schedule" },
  datasets: { path: () => "/datasets", heading: /^Datasets$/, shows: "There are none yet" },
  dataset: { path: () => "/datasets/none", heading: /^Dataset none$/, shows: "There is no dataset" },
  evals: { path: () => "/evals", heading: /^Evaluations$/, shows: "has no evaluation" },
  eval: { path: () => "/evals/none", heading: /^Evaluation none$/, shows: "no evaluation 'none'" },
  evalRun: { path: () => "/evals/none/runs/none", heading: /^Run none$/, shows: "There is no run" },
  benchmarks: { path: () => "/benchmarks", heading: /^Benchmarks$/, shows: "There are none yet" },
  benchmark: { path: () => "/benchmarks/none", heading: /^Benchmark none$/, shows: "There is no benchmark" },
  functions: { path: () => "/compute/functions", heading: /^Functions$/, shows: "There are none yet" },
  function: { path: () => "/compute/functions/none", heading: /^Function none$/, shows: "There is no version" },
  images: { path: () => "/compute/images", heading: /^Builds$/, shows: "omitted" },
  image: { path: () => "/compute/images/none", heading: /^Build none$/, shows: "There is no build" },
  notebooks: { path: () => "/notebooks", heading: /^Notebooks$/, shows: "There are none yet" },
  notebook: { path: () => "/notebooks/none", heading: /^Notebook none$/, shows: "There is no notebook" },
  branches: { path: () => "/branches", heading: /^Branches$/, shows: "svc apply --branch NAME" },
  streams: { path: () => "/streams", heading: /^Streams$/, shows: "No topic is read" },
  stream: { path: () => "/streams/none", heading: /^Stream none$/, shows: "none" },
  aggregates: { path: () => "/aggregates", heading: /^Kept aggregates$/, shows: "No window is kept" },
  containers: { path: () => "/compute/containers", heading: /^Containers$/, shows: "There are none yet" },
  container: { path: () => "/compute/containers/none", heading: /^Container none$/, shows: "There is no container" },
  scalingGroups: { path: () => "/compute/scaling-groups", heading: /^Scaling groups$/, shows: "There are none yet" },
  scalingGroup: { path: () => "/compute/scaling-groups/none", heading: /^Scaling group none$/, shows: "There is no scaling group" },
  sandboxes: { path: () => "/compute/sandboxes", heading: /^Sandboxes$/, shows: "There are none yet" },
  sandbox: { path: () => "/compute/sandboxes/none", heading: /^Sandbox none$/, shows: "There is no sandbox" },
  volumes: { path: () => "/compute/volumes", heading: /^Volumes$/, shows: "There are none yet" },
  volume: { path: () => "/compute/volumes/none", heading: /^Volume none$/, shows: "There is no volume" },
  clusters: { path: () => "/compute/clusters", heading: /^Clusters$/, shows: "clstr_local" },
  cluster: { path: () => "/compute/clusters/clstr_local", heading: /^Cluster local$/, shows: "server" },
  "cluster that is not there": { path: () => "/compute/clusters/none", heading: /^Cluster none$/, shows: "There is no cluster" },
  traffic: { path: () => "/traffic", heading: /^Traffic$/, shows: "<img" },
  metrics: { path: () => "/metrics", heading: /^Metrics$/, shows: "Latency of queries" },
  monitors: { path: () => "/monitors", heading: /^Monitors$/, shows: "p99:query.latency.rollup(5m)" },
  monitor: { path: () => "/monitors/none", heading: /^Monitor none$/, shows: "no monitor of this name" },
  logs: { path: () => "/logs", heading: /^Logs$/, shows: "ValueError" },
  audit: { path: () => "/audit", heading: /^Audit$/, shows: "DeploymentService/CreateDeployment" },
  usage: { path: () => "/usage", heading: /^Usage$/, shows: "Queries over time" },
  settings: { path: () => "/settings", heading: /^Settings$/, shows: "Service tokens" },
  setting: { path: () => "/settings/webhooks", heading: /^Webhooks$/, shows: "svc webhook create" },
  gallery: { path: () => "", heading: /^Gallery$/, shows: "Waterfall" },
  "deployment that failed": { path: ({ failed }) => `/deployments/${failed}`, heading: /^Deployment dpl_/, shows: /ValueError/ },
};
/** Paths of pages that belong to no environment. */
const OF_SERVER: Readonly<Record<string, string>> = { gallery: "/gallery" };
const THEMES = ["light", "dark"] as const;
const WIDTHS = [1280, 420] as const;

describe.skipIf(lacksBrowser())("every page", () => {
  const folder = new TempFolder();
  let server: TestServer;
  let browser: Browser;
  let tab: Tab;
  let deployed: Deployed;
  const base = () => `${server.url}/environments/${server.credentials.environmentId}`;

  beforeAll(async () => {
    [server, browser] = await Promise.all([TestServer.start(folder.path), launchBrowser()]);
    deployed = await deployHostile(server);
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

  test("has a row here", () => {
    const pages = new Set(Object.keys(ROWS).map((name) => name.split(" ")[0]));
    expect(ROUTED.filter((page) => !pages.has(page))).toEqual([]);
    expect(ROUTED.filter((page) => !PAGE_NAMES.includes(page))).toEqual([]);
  });

  describe.each(Object.entries(ROWS))("%s", (name, { heading, path, shows }) => {
    const addressOf = () => (OF_SERVER[name] === undefined ? base() + path(deployed) : server.url + OF_SERVER[name]);

    test.each(THEMES.flatMap((theme) => WIDTHS.map((width) => [theme, width] as const)))(
      "%s at %d px",
      async (theme, width) => {
        const { complaints, page } = tab;
        await page.emulateMedia({ colorScheme: theme });
        await page.setViewportSize({ width, height: 800 });
        const response = await page.goto(addressOf());
        expect(response?.status()).toBe(200);
        await settled(page);
        await page.getByText(shows).first().waitFor();
        const headings = await page.locator("h1").allTextContents();
        expect(headings).toHaveLength(1);
        expect(headings[0]).toMatch(heading);
        expect(await page.title()).toBe(`${headings[0]} - svc`);
        expect(await page.locator("main img, main script, main iframe").count()).toBe(0);
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
        expect(await violations(page)).toEqual([]);
        expect(complaints.splice(0)).toEqual([]);
      },
      300_000,
    );

    test("keeps its state when it is loaded again, and over back and forward", async () => {
      const { page } = tab;
      const address = addressOf();
      await page.goto(address);
      await settled(page);
      const before = await page.locator("h1").textContent();
      await page.reload();
      await settled(page);
      expect(await page.locator("h1").textContent()).toBe(before);
      await page.getByRole("link", { name: "svc", exact: true }).click();
      await page.goBack();
      await page.waitForURL(address);
      await settled(page);
      expect(await page.locator("h1").textContent()).toBe(before);
      await page.goForward();
      await settled(page);
      expect(tab.complaints.splice(0)).toEqual([]);
    }, 300_000);
  });

  test("a page is gone to without loading a document, and the focus goes to it", async () => {
    const { page } = tab;
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(base());
    await settled(page);
    await page.evaluate(() => Object.assign(window, { isSame: true }));
    await page.getByRole("link", { name: "Features", exact: true }).click();
    await page.getByRole("heading", { name: "Features" }).waitFor();
    expect(await page.evaluate(() => [document.activeElement?.id, "isSame" in window])).toEqual(["main", true]);
    await page.keyboard.press("g");
    await page.keyboard.press("d");
    await page.getByRole("heading", { name: "Deployments" }).waitFor();
    expect(await page.evaluate(() => [document.activeElement?.id, "isSame" in window])).toEqual(["main", true]);
  });

  test("a deployment that failed is shown without the queries of others with its tag", async () => {
    const { complaints, page } = tab;
    await page.goto(`${base()}/deployments/${deployed.live}`);
    await page.getByRole("heading", { name: "Latest queries" }).waitFor();
    await page.getByText(/^Metrics know it by its tag/).waitFor();
    await page.goto(`${base()}/deployments/${deployed.failed}`);
    await settled(page);
    await page.getByRole("heading", { name: "Log" }).waitFor();
    expect(await page.getByRole("heading", { name: /queries/i }).count()).toBe(0);
    expect(complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("keys: help, search, rows, the command", async () => {
    const { context, page } = tab;
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto(`${base()}/features`);
    await settled(page);
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("/");
    await page.locator("input[type=search]:focus").waitFor();
    await page.keyboard.type("greet");
    await page.waitForURL(/q=greet/);
    await page.getByText("1 of 4").waitFor();
    await page.reload();
    await page.getByText("1 of 4").waitFor();
    await page.keyboard.press("y");
    await page.getByText("Copied: svc features list --environment=default").waitFor();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("svc features list --environment=default");
    await page.goto(`${base()}/deployments`);
    await settled(page);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`/deployments/${deployed.failed}$`));
  });

  test("the palette finds a page, a feature and an id, by keys alone", async () => {
    const { page } = tab;
    await page.goto(base());
    await settled(page);
    for (const [typed, address] of [
      ["depl", /\/deployments$/],
      ["user.gree", /\/features(\?q=user.greeting|\/user\.greeting)$/],
      [deployed.ready, new RegExp(`/deployments/${deployed.ready}$`)],
    ] as const) {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: /^Page, feature/ }).waitFor();
      await page.keyboard.type(typed);
      await page.getByRole("listbox", { name: "Found" }).getByRole("option", { selected: true }).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press("Enter");
      await page.waitForURL(address);
    }
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /^Page, feature/ }).waitFor();
    await page.keyboard.press("Escape");
    expect(await page.getByRole("combobox", { name: /^Page, feature/ }).count()).toBe(0);
  });

  test("Tab reaches everything that can be used, in an order that ends", async () => {
    const { page } = tab;
    await page.goto(`${base()}/deployments/${deployed.ready}`);
    await settled(page);
    await page.getByRole("button", { name: "Promote" }).waitFor();
    // Of tabs the open one is reached, and arrows go on from there.
    const usable = await page.locator("a[href], button:not(:disabled, [tabindex='-1']), select, input, summary").evaluateAll((all) => {
      for (const [at, one] of all.entries()) one.setAttribute("data-at", String(at));
      return all.filter((one) => one.checkVisibility()).map((one) => one.getAttribute("data-at"));
    });
    const reached = new Set<string | null>();
    for (let presses = 0; presses < usable.length + 10; presses++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement?.getAttribute("data-at") ?? null));
    }
    expect(usable.filter((at) => !reached.has(at))).toEqual([]);
  });

  test("an address that is no page says so, with the status for it", async () => {
    const { page } = tab;
    const response = await page.goto(`${base()}/nothing`);
    expect(response?.status()).toBe(404);
    await page.getByRole("heading", { name: "Nothing here" }).waitFor();
    const elsewhere = await page.goto(`${server.url}/environments/none/features`);
    expect(elsewhere?.status()).toBe(200);
    await page.getByRole("alert").first().waitFor();
    expect(await page.getByRole("alert").first().textContent()).toContain("none");
    expect(tab.complaints.splice(0)).toEqual([]);
  });

  test("a page without the environment in its address gets the one of the credentials, and keeps its query", async () => {
    const { page } = tab;
    await page.goto(`${server.url}/features?q=greet`);
    await page.waitForURL(`${base()}/features?q=greet`);
    await page.getByText("1 of 4").waitFor();
  });

  test("the theme is kept, and is the system's again", async () => {
    const { page } = tab;
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(base());
    await settled(page);
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await background();
    await page.locator("summary", { hasText: "Account and theme" }).click();
    await page.getByRole("radio", { name: "dark" }).check();
    const dark = await background();
    expect(dark).not.toBe(light);
    const themed = await page.reload();
    await settled(page);
    expect(await background()).toBe(dark);
    expect(await themed?.text()).toContain('data-theme="dark"');
    await page.route("**/*.js", (route) => route.abort());
    await page.reload();
    expect(await background()).toBe(dark);
    await page.unroute("**/*.js");
    await page.reload();
    await settled(page);
    await page.locator("summary", { hasText: "Account and theme" }).click();
    await page.getByRole("radio", { name: "system" }).check();
    expect(await background()).toBe(light);
    await page.reload();
    expect(await background()).toBe(light);
    expect((await tab.context.cookies()).map(({ name }) => name)).not.toContain("svc_theme");
  });

  test("eight tabs at once all load", async () => {
    const pages = await Promise.all(Array.from({ length: 8 }, () => tab.context.newPage()));
    await Promise.all(
      pages.map(async (page) => {
        await page.goto(`${base()}/deployments/${deployed.live}`);
        await settled(page);
        await page.getByText("second line").waitFor();
      }),
    );
    await Promise.all(pages.map((page) => page.close()));
  }, 300_000);
});
