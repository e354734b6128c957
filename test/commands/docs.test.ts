/** The documentation on the command line and at the server; the cheat sheets are followed from their first block to their last. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { TOPICS } from "../../src/docs/cheat-sheets.ts";
import { tempFolder } from "../client/test-context.ts";
import { followPage } from "../harness/docs-page.ts";
import { type Platform, runCommand, startPlatform } from "./platform.ts";

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
}, 300_000);
afterAll(() => platform?.server.stop());

describe("svc docs", () => {
  test("lists the pages and prints one, also by the end of its name", async () => {
    const listed = (await runCommand("docs", ["--list", "--json"])).json() as { pages: { path: string }[] };
    expect(listed.pages.map(({ path }) => path)).toContain("commands/query");
    const printed = await runCommand("docs", ["streams"]);
    expect(printed.stdout).toBe(readFileSync(join(import.meta.dir, "../../docs/streams.md"), "utf8"));
    expect((await runCommand("docs", ["lint-rules.md"])).stdout).toContain("# Lint rules");
    const wrong = await runCommand("docs", ["steams"]);
    expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining("did you mean 'streams'?")]);
  });

  test("wraps a page for a terminal", async () => {
    const { stdout } = await runCommand("docs", ["sinks"], { terminal: true, columns: 60 });
    const prose = Bun.stripANSI(stdout)
      .split("\n")
      .filter((line) => /^\w/.test(line));
    expect(Math.max(...prose.map((line) => line.length))).toBeLessThanOrEqual(60);
    expect(stdout).toContain("\nWhich rows\n----------\n");
    expect(stdout).toContain("\nfeatures.py\n");
  });

  test("writes all of them to a folder of their own", async () => {
    const folder = join(tempFolder(), "site");
    for (const _ of [1, 2]) expect((await runCommand("docs", ["--output-dir", folder])).stdout).toContain(`files to ${folder}`);
    for (const name of ["index.html", "search.json", "commands/query.html", "streams.md"])
      expect(existsSync(join(folder, name))).toBe(true);
    const refused = await runCommand("docs", ["--output-dir", tempFolder()]);
    expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining("holds no documentation of svc")]);
  });
});

describe("at the server", () => {
  test("is there for everybody, with the headers of other pages", async () => {
    const page = await fetch(`${platform.url}/docs/streams.html`);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.headers.get("content-security-policy")).toContain("script-src 'self'");
    const etag = page.headers.get("etag") ?? "";
    expect((await fetch(`${platform.url}/docs/streams.html`, { headers: { "if-none-match": etag } })).status).toBe(304);
    const moved = await fetch(`${platform.url}/docs`, { redirect: "manual" });
    expect([moved.status, moved.headers.get("location")]).toEqual([308, "/docs/"]);
    expect((await fetch(`${platform.url}/docs/`)).headers.get("content-type")).toBe("text/html; charset=utf-8");
  });

  test("has nothing else, and takes nothing", async () => {
    for (const path of ["none.html", "../etc/passwd", "constructor", "__proto__"])
      expect((await fetch(`${platform.url}/docs/${path}`)).status).toBe(404);
    expect((await fetch(`${platform.url}/docs/`, { method: "POST" })).status).toBe(405);
  });
});

describe("svc cheat", () => {
  test("lists its topics, and knows names that are near", async () => {
    const { sheets } = (await runCommand("cheat", ["--json"])).json() as { sheets: { topic: string }[] };
    expect(sheets.map(({ topic }) => topic)).toEqual([...TOPICS]);
    const wrong = await runCommand("cheat", ["feature"]);
    expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining("did you mean 'features'?")]);
  });

  for (const topic of TOPICS)
    test(`the sheet on ${topic} does what it says`, async () => {
      expect((await runCommand("cheat", [topic])).stdout).toContain("# ");
      const dir = tempFolder("svc-cheat-");
      await followPage(`cheat/${topic}.md`, dir, async ({ line, words }) => {
        const done = await runCommand(words[0] ?? "", words.slice(1), { home: platform.home, env: platform.env, dir });
        expect(done.exitCode, `${line}\n${done.stderr}\n${done.stdout}`).toBe(0);
      });
    }, 300_000);
});
