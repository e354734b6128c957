/** The manual: complete, and without a warning from groff. */

import { beforeAll, describe, expect, test } from "bun:test";
import { describeLoadedTree, type TreeInfo } from "../../src/cli/describe.ts";
import { manualPages } from "../../src/cli/manual.ts";
import { categories, commandTree } from "../../src/commands/index.ts";
import { RULES } from "../../src/domain/rules/rules.ts";
import { RULES_PAGE } from "../../src/output/rules-page.ts";
import { lacksProgram } from "../harness/needs.ts";

const EDITION = { version: "v1.2.3", date: "2024-02-29" };
let tree: TreeInfo;
let pages: Map<string, string>;
beforeAll(async () => {
  tree = await describeLoadedTree(commandTree);
  pages = manualPages(tree, categories, EDITION);
});

async function groff(page: string, options: readonly string[]): Promise<{ text: string; said: string }> {
  const child = Bun.spawn(["groff", "-man", "-Tutf8", "-rLL=200n", ...options], {
    stdin: Buffer.from(page),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [text, said] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  await child.exited;
  return { text: text.replaceAll(/\x1b\[[\d;]*m|.\x08/g, ""), said };
}

test("a page for svc and for each command of the first level, with all that is below it, and that of the rules", () => {
  const tops = new Set(tree.commands.map(({ path }) => path.split(" ")[0] ?? ""));
  expect([...pages.keys()].sort()).toEqual(["svc.1", RULES_PAGE, ...[...tops].map((top) => `svc-${top}.1`)].sort());
  for (const { path, runnable, flags } of tree.commands) {
    const page = pages.get(`svc-${path.split(" ")[0]}.1`) ?? "";
    if (runnable) expect(page).toContain(`\\fBsvc ${path.replaceAll("-", "\\-")}\\fR`);
    for (const flag of flags.filter(({ hidden }) => !hidden)) expect(page).toContain(`\\fB${flag.name.replaceAll("-", "\\-")}\\fR`);
  }
});

test("the page of lint's rules has every rule, with what it means", () => {
  const page = pages.get(RULES_PAGE)?.replaceAll("\\-", "-");
  for (const { code, id } of RULES) expect(page).toContain(`${code}, ${id}: `);
});

describe.skipIf(lacksProgram("groff"))("groff", () => {
  test("has no warning about any page", async () => {
    const said = await Promise.all([...pages].map(async ([name, page]) => `${name}: ${(await groff(page, ["-ww", "-z"])).said}`));
    expect(said).toEqual([...pages.keys()].map((name) => `${name}: `));
  });

  test("shows what the help says, also characters that mean something to roff", async () => {
    const odd = "-x 'a' `b` ^c ~/d \\e \"f\" é → .g";
    const command = { path: "odd", aliases: [], summary: odd, runnable: true, description: `.not a request\n'nor this`, args: [] };
    const flags = [
      {
        name: "--in-put",
        aliases: ["-i"],
        type: "string",
        repeatable: true,
        required: false,
        optional_value: false,
        hidden: false,
        meaning: odd,
      },
    ];
    const made = manualPages({ globals: [], commands: [{ ...command, flags, examples: [{ run: "svc odd -i 'a b'" }] }] }, [], EDITION);
    const { text, said } = await groff(made.get("svc-odd.1") ?? "", ["-ww"]);
    expect(said).toBe("");
    expect(text).toContain(odd);
    expect(text).toContain(".not a request 'nor this");
    expect(text).toContain("svc odd -i 'a b'");
    expect(text).toMatch(/-i, --in-put <string>/);
    expect(text).toContain("svc v1.2.3");
    expect(text).toContain("2024-02-29");
  });
});
