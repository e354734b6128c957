/** What pages of containers, scaling groups, sandboxes and volumes show and do, on a real Podman. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { ContainerService } from "../../gen/svc/v1/container_pb.ts";
import { SandboxService } from "../../gen/svc/v1/sandbox_pb.ts";
import { ScalingGroupService } from "../../gen/svc/v1/scaling_group_pb.ts";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { eventually } from "../harness/eventually.ts";
import { lacksPodman, startPodman, type TestPodman } from "../harness/podman.ts";
import { TempFolder, type TestServer } from "../harness/running-server.ts";
import { violations } from "./accessibility.ts";
import { type Contained, contain, empty, startContained, untilMeasured } from "./contained.ts";
import { logIn, openTab, settled, type Tab } from "./tab.ts";

interface Row {
  readonly path: (made: Contained) => string;
  readonly heading: string;
  /** Texts that show that what was made is there. */
  readonly shows: readonly (string | RegExp)[];
}

const PAGES: Readonly<Record<string, Row>> = {
  containers: { path: () => "/containers", heading: "Containers", shows: ["printer", "importer-of-last-night"] },
  container: {
    path: ({ printer }) => `/containers/${printer}`,
    heading: "Container printer",
    shows: [/line \d+ .*<img src=x/, "team=risk", /processors, .* of memory/, "Processors in use", /^It runs localhost\/busybox:test/],
  },
  "container by name": { path: () => "/containers/printer", heading: "Container printer", shows: ["at most 500m"] },
  "container that failed": {
    path: ({ failed }) => `/containers/${failed}`,
    heading: "Container importer-of-last-night",
    shows: ["failed"],
  },
  groups: { path: () => "/scaling-groups", heading: "Scaling groups", shows: ["site", "2 of 2", "2 to 4"] },
  group: {
    path: () => "/scaling-groups/site",
    heading: "Scaling group site",
    shows: [/^2 of 2 ready; 2 to 4, another one at 70 %/, /^Its replicas run localhost\/busybox:test/, "Memory in use"],
  },
  sandboxes: { path: () => "/sandboxes", heading: "Sandboxes", shows: ["try"] },
  sandbox: { path: ({ sandbox }) => `/sandboxes/${sandbox}`, heading: "Sandbox try", shows: ["Run a command", "at most 64Mi"] },
  volumes: { path: () => "/volumes", heading: "Volumes", shows: ["notes", "20 kB", "printer"] },
  volume: { path: () => "/volumes/notes", heading: "Volume notes", shows: ["20 kB", "printer"] },
  cluster: { path: () => "/clusters/clstr_local", heading: "Cluster local", shows: ["printer", "Processes"] },
};
const TEST_MS = 300_000;

describe.skipIf(lacksBrowser() || lacksPodman())("pages of containers", () => {
  const folder = new TempFolder();
  let podman: TestPodman;
  let server: TestServer;
  let browser: Browser;
  let tab: Tab;
  let made: Contained;
  const base = () => `${server.url}/environments/${server.credentials.environmentId}/compute`;
  const open = async (path: string) => {
    await tab.page.goto(base() + path);
    await settled(tab.page);
  };

  beforeAll(async () => {
    [podman, browser] = await Promise.all([startPodman(), launchBrowser()]);
    server = await startContained(folder.path, podman);
    made = await contain(server);
    await untilMeasured(server);
    tab = await openTab(browser, server.url);
    await logIn(tab, server, await server.token());
  }, TEST_MS);
  afterAll(async () => {
    await tab?.[Symbol.asyncDispose]();
    await browser?.close();
    if (server) await empty(server);
    await server?.[Symbol.asyncDispose]();
    await podman?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  }, TEST_MS);

  describe.each(Object.entries(PAGES))("%s", (_, { heading, path, shows }) => {
    test.each([
      ["light", 1280],
      ["dark", 1280],
      ["light", 420],
      ["dark", 420],
    ] as const)(
      "%s at %d px",
      async (theme, width) => {
        const { complaints, page } = tab;
        await page.emulateMedia({ colorScheme: theme });
        await page.setViewportSize({ width, height: 800 });
        await open(path(made));
        expect(await page.locator("h1").allTextContents()).toEqual([heading]);
        for (const text of shows) await page.locator("main").getByText(text).first().waitFor();
        expect(await page.locator("main img").count()).toBe(0);
        expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
        if (width === 1280)
          expect(
            await page
              .locator("main section.table")
              .evaluateAll((tables) => tables.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)),
          ).toEqual([]);
        expect(await violations(page)).toEqual([]);
        expect(complaints.splice(0)).toEqual([]);
      },
      TEST_MS,
    );
  });

  test(
    "a command runs in a sandbox, by keyboard: its output as it comes, its errors, its exit code, and its end",
    async () => {
      const { complaints, page } = tab;
      await page.setViewportSize({ width: 1280, height: 800 });
      await open(`/sandboxes/${made.sandbox}`);
      const field = page.getByRole("textbox", { name: "Command" });
      await field.fill("echo '<b>out</b>'; echo wrong >&2; exit 7");
      await field.press("Enter");
      await page.getByText("exit code 7").waitFor();
      const output = page.getByRole("region", { name: "Output" });
      expect(await output.textContent()).toContain("<b>out</b>");
      expect((await output.locator(".bad").textContent())?.trim()).toBe("wrong");
      await field.fill("echo begun; while true; do sleep 0.1; done");
      await field.press("Enter");
      await output.getByText("begun").waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByRole("button", { name: "End it" }).click();
      await page.getByRole("button", { name: "Run", exact: true }).waitFor();
      await field.fill("for p in /proc/[0-9]*; do cat $p/cmdline; done | grep -c [s]leep.0.1");
      await eventually(async () => {
        await field.press("Enter");
        await page.getByText(/^exit code/).waitFor();
        return (await output.textContent())?.trim() === "0";
      }, "nothing of it runs any more");
      expect(complaints.splice(0)).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "the WebSocket of a page is opened with both halves of its session and a ticket, from this origin",
    async () => {
      const { page } = tab;
      await open("/sandboxes");
      const { ticket } = await server.client(SandboxService).openExec({ sandbox: "try", command: ["true"] });
      const outcomes = await page.evaluate(async (foreign) => {
        const key = localStorage.getItem("svc-page-key") ?? "";
        const reached = (...protocols: string[]) =>
          new Promise<string>((resolve) => {
            const socket = new WebSocket("/v1/sandboxes/exec", protocols);
            socket.onopen = () => resolve("open");
            socket.onerror = () => resolve("refused");
          });
        return [
          await reached("svc-shell", `svc-page-key.${key}`, `svc-shell-ticket.${foreign}`),
          await reached("svc-shell", `svc-page-key.${key}`),
          await reached("svc-shell", `svc-shell-ticket.${foreign}`),
          await reached("svc-shell", "svc-page-key.svcb_wrong", `svc-shell-ticket.${foreign}`),
          await reached(`svc-page-key.${key}`, `svc-shell-ticket.${foreign}`),
        ];
      }, ticket);
      // The ticket is of this session's client, so that the whole of it opens.
      expect(outcomes).toEqual(["open", "refused", "refused", "refused", "refused"]);
      const cookie = (await tab.context.cookies()).map(({ name, value }) => `${name}=${value}`).join("; ");
      const key = await page.evaluate(() => localStorage.getItem("svc-page-key") ?? "");
      const asked = async (headers: Record<string, string>) =>
        (
          await fetch(`${server.url}/v1/sandboxes/exec`, {
            headers: {
              ...{
                upgrade: "websocket",
                connection: "upgrade",
                "sec-websocket-version": "13",
                "sec-websocket-key": btoa("0123456789abcdef"),
              },
              ...{ "sec-websocket-protocol": `svc-shell, svc-page-key.${key}, svc-shell-ticket.none`, ...headers },
            },
          })
        ).status;
      expect(await asked({})).toBe(401);
      expect(await asked({ cookie, origin: "https://elsewhere.example.com" })).toBe(403);
      expect(await asked({ cookie, origin: server.url })).toBe(403);
      tab.complaints.splice(0);
    },
    TEST_MS,
  );

  test(
    "a group is scaled and restarted, which its page shows as it happens",
    async () => {
      const { complaints, page } = tab;
      await open("/scaling-groups/site");
      const replicas = page.getByRole("table", { name: "Replicas" });
      await expectCount(() => replicas.getByText("ready", { exact: true }).count(), 2);
      await page.getByRole("button", { name: /^Scale/ }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByLabel("Fewest replicas").fill("3");
      await dialog.getByText(/svc scaling-group scale --name site --min-replicas 3 --max-replicas 4 --target-cpu 70/).waitFor();
      expect(await violations(page)).toEqual([]);
      await dialog.getByLabel("Most replicas").fill("2");
      await dialog.getByRole("button", { name: "Scale", exact: true }).click();
      await dialog.getByText("The fewest replicas (3) are more than the most (2).").waitFor();
      await dialog.getByLabel("Most replicas").fill("4");
      await dialog.getByRole("button", { name: "Scale", exact: true }).click();
      await expectCount(() => replicas.getByText("ready", { exact: true }).count(), 3);
      await page.getByText("It should have 3 replicas instead of 2, by its bounds.").waitFor();
      const names = await replicas.locator("a").allTextContents();
      await page.getByRole("button", { name: /^Restart/ }).click();
      await dialog.getByRole("button", { name: "Restart", exact: true }).click();
      await page.getByText("New replicas take the place of the old ones.").waitFor();
      await eventually(async () => {
        const { group } = await server.client(ScalingGroupService).getScalingGroup({ group: "site" });
        const running = group?.replicas.filter(({ endedAt }) => !endedAt) ?? [];
        return running.length === 3 && running.every(({ name, ready }) => ready && !names.includes(name));
      }, "all replicas are new");
      expect(complaints.splice(0)).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "the lines of a container go on as it prints them, also when the server starts again meanwhile",
    async () => {
      const { page } = tab;
      await open(`/containers/${made.printer}`);
      const newest = async () => Number(/line (\d+) /.exec((await page.locator(".log-line").first().textContent()) ?? "")?.[1] ?? 0);
      await page.locator(".log-line").first().waitFor();
      const first = await newest();
      await eventually(async () => (await newest()) > first, "another line");
      const { credentials, url } = server;
      await server[Symbol.asyncDispose]();
      await page.getByText("Not live").waitFor();
      const last = await newest();
      server = await startContained(folder.path, podman, { credentials, port: Number(new URL(url).port) });
      await page.getByText("Not live").waitFor({ state: "detached" });
      await eventually(async () => (await newest()) > last + 1, "lines of after the restart");
      const shown = (await page.locator(".log-line").allTextContents()).map((line) => Number(/line (\d+) /.exec(line)?.[1]));
      // Each line once, none left out.
      expect(shown).toEqual(shown.map((_, at) => (shown[0] ?? 0) - at));
      expect((await server.client(ContainerService).getContainer({ container: made.printer })).container?.endedAt).toBeUndefined();
      tab.complaints.splice(0);
    },
    TEST_MS,
  );

  test(
    "a cluster is tested from its page",
    async () => {
      const { complaints, page } = tab;
      await open("/clusters");
      await page.getByRole("link", { name: "local" }).click();
      await page.getByRole("button", { name: "Test", exact: true }).click();
      await page.getByText(/^All \d+ work\.$/).waitFor();
      expect(await page.getByRole("table", { name: "Checks" }).textContent()).toContain("container engine");
      expect(complaints.splice(0)).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "without the permission nothing is offered that would be refused",
    async () => {
      await using viewer = await openTab(browser, server.url);
      await logIn(viewer, server, await server.token(), "/", { readOnly: true });
      for (const path of [`/containers/${made.printer}`, "/scaling-groups/site", `/sandboxes/${made.sandbox}`, "/volumes/notes"]) {
        await viewer.page.goto(base() + path);
        await settled(viewer.page);
        await viewer.page.locator("main .facts").first().waitFor();
        const offered = viewer.page.locator("main").getByRole("button", { name: /Stop|Scale|Restart|Delete|Terminate|Run/ });
        expect(await offered.count()).toBe(0);
      }
      expect(viewer.complaints).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "what is ended or deleted asks for its name, and is gone or has ended then",
    async () => {
      const { complaints, page } = tab;
      const dialog = page.getByRole("dialog");
      const typed = async (verb: string, name: string) => {
        await page.getByRole("button", { name: new RegExp(`^${verb}:`) }).click();
        expect(await dialog.getByRole("button", { name: verb, exact: true }).isDisabled()).toBe(true);
        await dialog.getByRole("textbox").fill(name);
        await dialog.getByRole("button", { name: verb, exact: true }).click();
      };
      await open("/volumes/notes");
      await typed("Delete", "notes");
      await dialog.getByText(/printer/).waitFor();
      await page.keyboard.press("Escape");
      await open("/scaling-groups/site");
      await typed("Delete", "site");
      await page.waitForURL(/\/compute\/scaling-groups$/);
      await page.getByText("There are none yet.").waitFor();
      await open(`/sandboxes/${made.sandbox}`);
      await typed("Terminate", "try");
      await page.locator("dt:has-text('State') + dd").getByText("stopped").waitFor();
      expect(await page.getByRole("textbox", { name: "Command" }).count()).toBe(0);
      await open(`/containers/${made.printer}`);
      await page.getByRole("button", { name: /^Stop/ }).click();
      await dialog.getByRole("button", { name: "Stop", exact: true }).click();
      await page.locator("dt:has-text('State') + dd").getByText("stopped").waitFor();
      await open("/volumes/notes");
      await page.getByText("no container that runs").waitFor();
      await typed("Delete", "notes");
      await page.waitForURL(/\/compute\/volumes$/);
      await page.getByText("There are none yet.").waitFor();
      expect(complaints.splice(0)).toEqual([]);
    },
    TEST_MS,
  );
});

/** Waits until there are so many. */
async function expectCount(count: () => Promise<number>, wanted: number): Promise<void> {
  await eventually(async () => (await count()) === wanted, `${wanted} are shown`);
}
