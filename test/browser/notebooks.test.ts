/** Notebooks in a browser: cells that are written, run and seen, whatever they give. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { deflateSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { CellKind, NotebookService } from "../../gen/svc/v1/notebook_pb.ts";
import { lacksBrowser, launchBrowser } from "../harness/browser.ts";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { deploy, expectLive, GREETING } from "../server/deployments/deploying.ts";
import { violations } from "./accessibility.ts";
import { logIn, openTab, settled, type Tab } from "./tab.ts";

const HOSTILE = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;

/** A cell whose values are what libraries give, and what they should not. */
const SHOWS = `class Shown:
    def __init__(self, **forms): self.forms = {name.replace("_", "/", 1): form for name, form in forms.items()}
    def _repr_mimebundle_(self): return self.forms
    def __repr__(self): return "a shown thing"
display(Shown(text_html=${JSON.stringify(`<table class="dataframe"><tr><th></th><th>name</th></tr><tr><th>0</th><td>&lt;Ada&gt; ${HOSTILE}</td></tr></table>${HOSTILE}`)}))
display(Shown(image_png="${png()}"))
print(${JSON.stringify(HOSTILE)}, "x" * 400)`;

describe.skipIf(lacksBrowser())("the pages of notebooks", () => {
  const folder = new TempFolder();
  let server: TestServer;
  let browser: Browser;
  let tab: Tab;
  let id: string;
  const base = () => `${server.url}/environments/${server.credentials.environmentId}`;

  beforeAll(async () => {
    [server, browser] = await Promise.all([TestServer.start(folder.path), launchBrowser()]);
    expectLive(await deploy(server, GREETING));
    const notebooks = server.client(NotebookService);
    id = (await notebooks.createNotebook({ title: HOSTILE.slice(0, 90), description: HOSTILE })).notebook?.id ?? "";
    await notebooks.addCell({ notebookId: id, kind: CellKind.MARKDOWN, source: HOSTILE });
    for (const source of [SHOWS, "1 / 0"]) {
      const cellId = (await notebooks.addCell({ notebookId: id, source })).cell?.id ?? "";
      await notebooks.runCell({ notebookId: id, cellId });
      await Array.fromAsync(notebooks.watchCell({ notebookId: id, cellId }));
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

  test.each([["light", 1280] as const, ["dark", 420] as const])(
    "show text, tables and images, and run nothing of them (%s, %d px)",
    async (colorScheme, width) => {
      const { complaints, page } = tab;
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await page.goto(`${base()}/notebooks`);
      await settled(page);
      await page.getByRole("link", { name: HOSTILE.slice(0, 90) }).click();
      await page.getByText("ZeroDivisionError: division by zero").waitFor();
      expect(await page.locator(".cell-table td").allTextContents()).toEqual(["", "<Ada>"]);
      expect(await page.locator(".cell-table th").allTextContents()).toEqual(["name", "0"]);
      const image = page.getByRole("img", { name: "a shown thing" });
      expect(await image.evaluate((one: HTMLImageElement) => [one.naturalWidth, one.naturalHeight])).toEqual([3, 2]);
      expect(await page.locator("main img").count()).toBe(1);
      expect(await page.locator("main script, main iframe").count()).toBe(0);
      expect(await page.title()).not.toContain("owned -");
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      expect(await violations(page)).toEqual([]);
      expect(complaints.splice(0)).toEqual([]);
      await page.setViewportSize({ width: 1280, height: 800 });
    },
    300_000,
  );

  describe("show HTML", () => {
    let receiver: Bun.Server<undefined>;
    const reached: string[] = [];
    let address = "";
    const other = () => `http://127.0.0.1:${receiver.port}`;
    /** HTML that does what it can, and its frame once it is shown. */
    const framed = async (html: string) => {
      const notebooks = server.client(NotebookService);
      const notebookId = (await notebooks.createNotebook({ title: `HTML ${crypto.randomUUID()}` })).notebook?.id ?? "";
      const source = `class Html:\n    def _repr_html_(self): return ${JSON.stringify(html)}\nHtml()`;
      const cellId = (await notebooks.addCell({ notebookId, source })).cell?.id ?? "";
      await notebooks.runCell({ notebookId, cellId });
      await Array.fromAsync(notebooks.watchCell({ notebookId, cellId }));
      address = `${base()}/notebooks/${notebookId}`;
      await tab.page.goto(address);
      await settled(tab.page);
      const element = tab.page.locator("iframe.cell-frame");
      await element.waitFor();
      return { element, frame: element.contentFrame(), notebookId, cellId };
    };
    beforeAll(() => {
      receiver = Bun.serve({
        port: 0,
        hostname: "127.0.0.1",
        fetch(request) {
          reached.push(new URL(request.url).pathname);
          return new Response("ok", { headers: { "access-control-allow-origin": "*" } });
        },
      });
    });
    afterAll(async () => await receiver?.stop(true));

    test("with its styles and figures, in a frame of its height", async () => {
      const html = `<style>#hot { background-color: rgb(200, 10, 20); }</style><table><tr><td id="hot">1</td><td style="color: rgb(1, 2, 3)">2</td></tr></table>
<svg height="150pt" width="200pt"><circle cx="50" cy="50" r="40" /></svg>`;
      const { element, frame } = await framed(html);
      await frame.locator("circle").waitFor();
      const styleOf = (selector: string, name: "backgroundColor" | "color") =>
        frame.locator(selector).evaluate((one, property) => getComputedStyle(one)[property as "color"], name);
      expect(await styleOf("#hot", "backgroundColor")).toBe("rgb(200, 10, 20)");
      expect(await styleOf("td + td", "color")).toBe("rgb(1, 2, 3)");
      expect((await element.boundingBox())?.height).toBeGreaterThan(200);
      expect(await violations(tab.page)).toEqual([]);
      expect(tab.complaints.splice(0)).toEqual([]);
    }, 300_000);

    test("that runs nothing, loads nothing and leads nowhere", async () => {
      const out = other();
      const html = `<p id="text">seen</p>
<script>fetch("${out}/script"); parent.document.title = "owned"; document.getElementById("text").textContent = "owned"</script>
<img src="${out}/image" onerror="fetch('${out}/handler')"><img src="/health" onerror="top.location = '${out}/top'">
<link rel="preconnect" href="${out}"><link rel="stylesheet" href="${out}/sheet"><link rel="prefetch" href="${out}/prefetch">
<meta http-equiv="refresh" content="0; url=${out}/refresh"><base href="${out}/base/" target="_top">
<style>@import "${out}/import"; #text { background: url("${out}/background"); } @font-face { font-family: f; src: url("${out}/font"); } #text { font-family: f; }</style>
<form action="${out}/form" target="_top"><input name="q" value="1"><button>Send</button></form>
<button formaction="${out}/formaction">Loose</button>
<a id="same" href="${out}/same">same</a><a id="top" href="${out}/top" target="_top">top</a><a id="blank" href="${out}/blank" target="_blank" ping="${out}/ping">blank</a>
<a id="script" href="javascript:fetch('${out}/link')">script</a><svg height="20"><a xlink:href="${out}/svg" id="drawn"><text y="15">drawn</text></a></svg>
<iframe src="${out}/frame"></iframe><object data="${out}/object"></object><embed src="${out}/embed"><video src="${out}/video" autoplay></video>
<details ontoggle="fetch('${out}/toggle')" open><summary>more</summary>more</details>`;
      const { element, frame } = await framed(html);
      await frame.locator("#text").waitFor();
      expect(await frame.locator("#text").textContent()).toBe("seen");
      for (const id of ["same", "top", "blank", "script", "drawn"]) await frame.locator(`#${id}`).click();
      await frame.getByRole("button", { name: "Send" }).click();
      await frame.getByRole("button", { name: "Loose" }).click();
      await frame.locator("input").press("Enter");
      expect(await frame.locator("#same").getAttribute("title")).toBe(`${out}/same`);
      expect(await element.getAttribute("sandbox")).toBe("");
      expect(await frame.locator("html").evaluate(() => origin)).toBe("null");
      expect([tab.page.url(), tab.context.pages().length]).toEqual([address, 1]);
      expect(await frame.locator("#text").textContent()).toBe("seen");
      expect(await tab.page.title()).not.toContain("owned");
      await tab.page.getByText("It has scripts, which this page does not run.").waitFor();
      // The receiver is there, and heard of nobody: what the browser began, its policy stopped.
      await fetch(`${out}/asked`);
      expect(reached.splice(0)).toEqual(["/asked"]);
      expect(tab.complaints.splice(0).filter((one) => !/policy|sandbox|^foreign: /i.test(one))).toEqual([]);
    }, 300_000);

    test("at an address that only this server gives, while the cell gives it, and in no other page", async () => {
      const { element, notebookId, cellId } = await framed("<h1>A heading</h1>");
      const path = (await element.getAttribute("src")) ?? "";
      const get = (way: string, init?: RequestInit) => fetch(server.url + way, init);
      const answer = await get(path);
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("<h1>A heading</h1>")]);
      const policy = answer.headers.get("content-security-policy") ?? "";
      expect(policy.split("; ")).toEqual(expect.arrayContaining(["sandbox", "default-src 'none'", "frame-ancestors 'self'"]));
      const changed = path.replace(cellId, "cell_other");
      const later = path.replace(/expires=(\d+)/, (_, at: string) => `expires=${Number(at) + 3600}`);
      for (const refused of [changed, later, path.replace(/signature=.*/, "signature="), path.replace(/\?.*/, "")])
        expect((await get(refused)).status).toBe(403);
      expect((await get(path, { method: "POST" })).status).toBe(405);
      await server.client(NotebookService).editCell({ notebookId, cellId, source: "1" });
      await server.client(NotebookService).runCell({ notebookId, cellId });
      await Array.fromAsync(server.client(NotebookService).watchCell({ notebookId, cellId }));
      expect((await get(path)).status).toBe(404);
      expect(tab.complaints.splice(0)).toEqual([]);
    }, 300_000);
  });

  test("write a cell and run it by keyboard, interrupt it, and stop the kernel", async () => {
    const { page } = tab;
    await page.goto(`${base()}/notebooks`);
    await page.getByRole("button", { name: /^Create/ }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("By hand");
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    await page.getByRole("heading", { name: "Notebook By hand" }).waitFor();
    await page.getByRole("button", { name: "Add code" }).click();
    const source = page.getByRole("textbox", { name: "Source of Code 1" });
    await source.fill("6 * 7");
    await source.press("Shift+Enter");
    await page.getByRole("region", { name: "What Code 1 gave" }).getByText("42").waitFor();
    await source.fill("print('begun', flush=True)\nimport time\ntime.sleep(600)");
    await page.getByRole("button", { name: "Run: Code 1" }).click();
    await page.getByRole("region", { name: "What Code 1 gave" }).getByText("begun").waitFor();
    await page.getByRole("button", { name: "Interrupt" }).click();
    await page.getByText("KeyboardInterrupt").waitFor();
    await page.getByRole("button", { name: "Add text" }).click();
    await page.getByRole("textbox", { name: "Source of Text 2" }).fill("a note");
    await page.getByRole("button", { name: "Move up: Text 2" }).click();
    await page.getByRole("textbox", { name: "Source of Text 1" }).waitFor();
    expect(await page.getByRole("textbox", { name: "Source of Text 1" }).inputValue()).toBe("a note");
    await page.getByRole("button", { name: /^Stop/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByText("the kernel was stopped").waitFor();
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as .ipynb" }).click();
    expect((await saved).suggestedFilename()).toBe("By hand.ipynb");
    expect(tab.complaints.splice(0)).toEqual([]);
  }, 300_000);

  test("are for reading alone without the permission to deploy", async () => {
    await using reader = await openTab(browser, server.url);
    await logIn(reader, server, await server.token(), "/", { readOnly: true });
    await reader.page.goto(`${base()}/notebooks/${id}`);
    await reader.page.getByText("ZeroDivisionError: division by zero").waitFor();
    expect(await reader.page.getByRole("button", { name: /^(Run|Stop|Delete|Add)/ }).count()).toBe(0);
    expect(await reader.page.locator("textarea").count()).toBe(0);
    expect(await violations(reader.page)).toEqual([]);
    expect(reader.complaints.splice(0)).toEqual([]);
  }, 300_000);
});

/** A PNG of 3 times 2 pixels, in base64. */
function png(): string {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(Bun.hash.crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.from([0, 0, 0, 3, 0, 0, 0, 2, 8, 2, 0, 0, 0]);
  const rows = deflateSync(
    Buffer.alloc(2 * (1 + 3 * 3), 200)
      .fill(0, 0, 1)
      .fill(0, 10, 11),
  );
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", head),
    chunk("IDAT", rows),
    chunk("IEND", Buffer.alloc(0)),
  ]).toString("base64");
}
