/** The documentation: complete, its links lead somewhere, and it is what the program is. */

import { beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { SERVICES } from "../../src/contract/services.ts";
import { TOPICS } from "../../src/docs/cheat-sheets.ts";
import { definitionsOf } from "../../src/docs/contract-pages.ts";
import { GUIDES, GUIDES_FOLDER } from "../../src/docs/guides.ts";
import { indexHtml, pageHtml } from "../../src/docs/html.ts";
import { literal, type Page } from "../../src/docs/page.ts";
import { publicNames } from "../../src/docs/python-pages.ts";
import { readSite } from "../../src/docs/site.ts";
import { FUNCTIONS } from "../../src/domain/expressions/functions.ts";
import { RULES } from "../../src/domain/rules/rules.ts";
import { sdkAssets } from "../../src/python/baked-sdk-assets.ts";

let pages: readonly Page[];
let files: Readonly<Record<string, string>>;
beforeAll(async () => {
  pages = (await readSite()).pages;
  files = await allFiles();
});

async function allFiles(): Promise<Record<string, string>> {
  const { names, text } = await readSite();
  return Object.fromEntries([...names].map((name) => [name, text(name)]));
}

const pageAt = (path: string): Page => {
  const page = pages.find((one) => one.path === path);
  if (!page) throw new Error(`no page ${path}`);
  return page;
};

describe("pages", () => {
  test("are all files of the folder", () => {
    const names = (folder: string) => readdirSync(folder).flatMap((name) => /^(.*)\.md$/.exec(name)?.[1] ?? []);
    expect([...GUIDES].sort()).toEqual(names(GUIDES_FOLDER).sort());
    expect([...TOPICS].sort()).toEqual(names(`${GUIDES_FOLDER}/cheat`).sort());
  });

  test("have a heading, a title and a line on what they are about, and are at one address each", () => {
    for (const { markdown, path, summary, title } of pages)
      expect([path, title !== "", summary !== "", markdown.startsWith("# ")]).toEqual([path, true, true, true]);
    expect(new Set(pages.map(({ path }) => path)).size).toBe(pages.length);
  });

  test("say everything that people can import, with its docstring", () => {
    const names = publicNames(sdkAssets());
    expect(names.length).toBeGreaterThan(80);
    const python = pages
      .filter(({ section }) => section === "Python")
      .map(({ markdown }) => markdown)
      .join("\n");
    const sections = new Map(python.split(/^## /m).map((part) => [part.split("\n")[0], part]));
    const bare = names.filter(([name]) => name !== "_" && (sections.get(name) ?? "").split("\n\n").length < 3).map(([name]) => name);
    expect(bare).toEqual([]);
    expect(sections.get("online")).toContain("def online(");
    expect(sections.get("Cron")).toContain("schedule: Union[str, timedelta]");
  });

  test("say every function, rule, service and method", () => {
    for (const name of FUNCTIONS.keys()) expect(pageAt("functions").markdown).toContain(`### ${name}\n`);
    for (const { code, id } of RULES) expect(pageAt("lint-rules").markdown).toContain(`## ${code} ${id}\n`);
    const api = pages
      .filter(({ section }) => section === "API")
      .map(({ markdown }) => markdown)
      .join("\n");
    for (const { typeName } of Object.values(SERVICES)) expect(api).toContain(`## ${typeName.replace("svc.v1.", "")}\n`);
    expect(pageAt("api/stream").markdown).toContain("### PauseStream\n\n`PauseStreamRequest` → `PauseStreamResponse`");
    expect(pageAt("api/stream").markdown).toContain("Permission: `query.offline`.");
  });
});

describe("files", () => {
  test("link to files and headings that exist", () => {
    const anchors = (html: string) => new Set([...html.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id));
    const broken: string[] = [];
    for (const [name, html] of Object.entries(files)) {
      if (!name.endsWith(".html")) continue;
      for (const [, target = ""] of html.matchAll(/ (?:href|src)="([^"]*)"/g)) {
        if (/^https?:/.test(target)) continue;
        const [path = "", anchor] = target.split("#");
        const found = path === "" ? name : new URL(path, `http://x/${name}`).pathname.slice(1);
        const text = files[found];
        if (text === undefined || (anchor && !anchors(text).has(anchor))) broken.push(`${name}: ${target}`);
      }
    }
    expect(broken).toEqual([]);
    for (const [, target = ""] of (files["llms.txt"] ?? "").matchAll(/\]\(([^)]*)\)/g)) expect(files[target]).toBeDefined();
  });

  test("are the same whenever they are made", async () => {
    expect(await allFiles()).toEqual(files);
  });

  test("show markup in texts, and never use it", () => {
    const page: Page = {
      path: "a/b",
      section: "Guides",
      title: "<img src=x>",
      summary: "<script>1</script>",
      markdown: `# <img src=x onerror=y>\n\n<script>1</script>\n\n${literal("<b>*x*</b> _y_ a_b [z](w) `c_d`")}\n\n\`\`\`py\n<i>\n\`\`\``,
    };
    const html = pageHtml(page, [page], "v1") + indexHtml([page], "v1");
    expect(html).not.toMatch(/<(img|script>|i>|b>)/);
    expect(html).toContain("&lt;b&gt;*x*&lt;/b&gt; _y_ a_b [z](w) <code>c_d</code>");
  });
});

test("definitions of a file of the contract have their comments", () => {
  const text = `syntax = "proto3";

// A service.
// Of two lines.
service A {
  // Does x.
  rpc X(B) returns (stream B) {
    option (permission) = PERMISSION_READ;
  }
}

// Not above it.

message B {
  // A field { with a brace.
  string c = 1;
}
`;
  expect(definitionsOf(text)).toEqual([
    { kind: "service", name: "A", comment: "A service. Of two lines.", lines: [] },
    { kind: "rpc", name: "X", comment: "Does x.", lines: ["    option (permission) = PERMISSION_READ;"], takes: "B", gives: "stream B" },
    { kind: "message", name: "B", comment: "", lines: ["  // A field { with a brace.", "  string c = 1;"] },
  ]);
});
