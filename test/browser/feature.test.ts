/** How the values of features lie, in a browser: against values that the fixture is known to have. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { GraphService } from "../../gen/svc/v1/graph_pb.ts";
import { QueryService } from "../../gen/svc/v1/query_pb.ts";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { deploy, expectLive } from "../server/deployments/deploying.ts";
import { violations } from "./accessibility.ts";
import { logIn, openTab, settled, type Tab } from "./tab.ts";

const FILES = {
  "features.py": `from typing import Optional
from svc import online
from svc.features import feature, features


@features
class User:
    id: int
    # Twice the id
    score: float
    colour: str
    half: Optional[int]
    phone: str = feature(tags=["pii"])
    broken: int
    unasked: int


@online
def get_score(id: User.id) -> User.score:
    return id * 2.0


@online
def get_colour(id: User.id) -> User.colour:
    return "<b>red" if id % 4 == 0 else "blue"


@online
def get_half(id: User.id) -> User.half:
    return id // 2 if id % 2 == 0 else None


@online
def get_phone(id: User.id) -> User.phone:
    return f"phone-{id}"


@online
def get_broken(id: User.id) -> User.broken:
    raise ValueError("no such part")
`,
};
const USERS = 40;

describe.skipIf(lacksBrowser())("the values of features", () => {
  const folder = new TempFolder();
  let server: TestServer;
  let browser: Browser;
  let tab: Tab;
  const values = () => tab.page.getByRole("region", { name: "Values of the last day" });
  const open = async (feature: string, of = tab) => {
    await of.page.goto(`${server.url}/environments/${server.credentials.environmentId}/features/user.${feature}`);
    await settled(of.page);
  };

  beforeAll(async () => {
    [server, browser] = await Promise.all([TestServer.start(folder.path), launchBrowser()]);
    expectLive(await deploy(server, FILES));
    const query = server.client(QueryService);
    for (let id = 1; id <= USERS; id++) {
      const input = { feature: "user.id", value: { case: "text", value: String(id) } } as const;
      await query.query({ inputs: [input], outputs: ["score", "colour", "half", "phone", "broken"].map((name) => `user.${name}`) });
    }
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

  const text = () => values().textContent();
  /** Number of values that the server has sampled, some of those that were asked for. */
  const sampledOf = async (feature: string): Promise<number> => {
    const { statistics } = await server.client(GraphService).getFeature({ fqn: `user.${feature}` });
    const sampled = Number(statistics?.sampled);
    expect([sampled > 10, sampled <= USERS]).toEqual([true, true]);
    return sampled;
  };

  test("numbers have a histogram with every value, from the least to the most", async () => {
    for (const [colorScheme, width] of [["light", 1280] as const, ["dark", 420] as const]) {
      await tab.page.emulateMedia({ colorScheme });
      await tab.page.setViewportSize({ width, height: 800 });
      await open("score");
      const drawn = values().getByRole("img", { name: /^Values: / });
      await drawn.waitFor();
      const sampled = Number((await drawn.getAttribute("aria-label"))?.match(/\d+/)?.[0]);
      expect(sampled).toBe(await sampledOf("score"));
      // Ids from 1 to 40 have scores from 2 to 80; a quantile is at most 9.1 % off.
      const cells = (await values().getByRole("table", { name: "Quantiles" }).getByRole("cell").allTextContents()).map(Number);
      expect(cells).toEqual(cells.toSorted((one, other) => one - other));
      expect([cells.length, (cells[0] ?? 0) >= 1.8, (cells[6] ?? 0) <= 88, (cells[6] ?? 0) > (cells[0] ?? 0)]).toEqual([
        7,
        true,
        true,
        true,
      ]);
      expect(await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      expect(await violations(tab.page)).toEqual([]);
      expect(tab.complaints.splice(0)).toEqual([]);
    }
    await tab.page.setViewportSize({ width: 1280, height: 800 });
  }, 300_000);

  test("texts have their most frequent values, nulls and failures are counted, errors are told", async () => {
    await open("colour");
    const rows = await values().getByRole("table", { name: "Most frequent values" }).getByRole("row").allTextContents();
    const counts = new Map(rows.map((row) => [row.replace(/\d+$/, ""), Number(row.match(/\d+$/)?.[0])]));
    expect([...counts.keys()]).toEqual(["blue", "<b>red"]);
    expect((counts.get("blue") ?? 0) + (counts.get("<b>red") ?? 0)).toBe(await sampledOf("colour"));
    await open("half");
    expect(await text()).toContain("50 %");
    await open("broken");
    expect(await text()).toContain("100 %");
    await tab.page.getByRole("region", { name: "Errors" }).getByText("no such part").waitFor();
    await tab.page.getByRole("region", { name: "Errors" }).getByRole("link", { name: "All of them" }).click();
    await tab.page.getByRole("heading", { name: "Errors" }).waitFor();
    await tab.page.getByText("no such part").first().waitFor();
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("personal values are not looked at, and the page says why; what nobody asked for has none", async () => {
    await open("phone");
    await values().getByText("Its values are personal (tag pii)").waitFor();
    expect(await tab.page.content()).not.toContain("phone-1");
    await open("unasked");
    await values().getByText("No query has asked for it in the last day.").waitFor();
  }, 300_000);

  test("the server away: what was shown stays, and what cannot be asked says so", async () => {
    await open("score");
    await values()
      .getByRole("img", { name: /^Values/ })
      .waitFor();
    await tab.page.route("**/svc.v1.*/**", (route) => route.abort());
    await tab.page.getByRole("link", { name: "Lineage", exact: true }).first().click();
    await tab.page.getByRole("alert").first().waitFor();
    await tab.page.goBack();
    await values()
      .getByRole("img", { name: /^Values/ })
      .waitFor();
    await tab.page.unroute("**/svc.v1.*/**");
    tab.complaints.splice(0);
  }, 300_000);
});
