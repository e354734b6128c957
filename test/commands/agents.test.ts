/** What coding agents are given, as people set it up: the page of the docs is followed, and its tables are true. */

import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectTools } from "../../src/agents/mcp/project-tools.ts";
import { ownSkills } from "../../src/agents/skill-source.ts";
import { PLATFORM_PROMPTS, PROJECT_PROMPTS } from "../../src/contract/platform-prompts.ts";
import { platformTools } from "../../src/contract/platform-tools.ts";
import { readGuides } from "../../src/docs/guide-texts.ts";
import { allFlags, commandProblem, commandsOf, flagsOf } from "../agents/written-commands.ts";
import { tempFolder } from "../client/test-context.ts";
import { testContext } from "../harness/context.ts";
import { followPage } from "../harness/docs-page.ts";
import { runCommand } from "./platform.ts";

const PAGE = readFileSync(join(import.meta.dir, "../../docs/agents.md"), "utf8");
/** The first column of a table of the page. */
const firstColumn = (header: string): string[] => {
  const table = new RegExp(`^\\| ${header} \\|.*\\n\\|[-|]+\\n((?:\\|.*\\n)+)`, "m").exec(PAGE)?.[1] ?? "";
  return [...table.matchAll(/^\| `([\w-]+)` \|/gm)].map(([, name = ""]) => name);
};

test("the page of the docs", async () => {
  const above = tempFolder("svc-docs-");
  const project = join(above, "project");
  mkdirSync(project);
  const run = async (words: readonly string[], line: string): Promise<void> => {
    const outcome = await runCommand(words[0] ?? "", words.slice(1), { home: above, dir: project });
    expect(outcome.exitCode, `${line}\n${outcome.stderr}`).toBe(0);
  };
  await followPage("agents.md", project, async ({ line, words }) => {
    if (line.includes("../skills") && !existsSync(join(above, "skills"))) {
      const text = readFileSync(join(project, "our-style.md"));
      mkdirSync(join(above, "skills/our-style"), { recursive: true });
      writeFileSync(join(above, "skills/our-style/SKILL.md"), text);
      writeFileSync(join(above, "skills/SHA256SUMS"), `${createHash("sha256").update(text).digest("hex")}  our-style/SKILL.md\n`);
    }
    await run(words, line);
    if (line.endsWith("--codex")) expect(existsSync(join(project, ".agents/skills", words[2] ?? "", "SKILL.md"))).toBe(true);
  });
  for (const file of [".mcp.json", "http.json"])
    expect(Object.keys(JSON.parse(readFileSync(join(project, file), "utf8")))).toEqual(["mcpServers"]);
  expect(existsSync(join(project, ".agents/skills/our-style"))).toBe(false);
});

test("the prompts are in its table, and name tools and pages that are there, those without a folder none of the folder's", async () => {
  const { context } = await testContext();
  const names = (tools: readonly { readonly name: string }[]) => tools.map(({ name }) => name);
  const ofPlatform = names(platformTools({ api: context.api, now: () => 0, pages: {}, allowsWrites: true }));
  const ofProject = names(projectTools(context, { diffText: () => "", allowsWrites: true }));
  expect(firstColumn("Prompt").sort()).toEqual([...names(PLATFORM_PROMPTS), ...names(PROJECT_PROMPTS)].sort());
  const pages = Object.keys(await readGuides());
  for (const [prompts, tools] of [
    [PLATFORM_PROMPTS, ofPlatform],
    [PROJECT_PROMPTS, [...ofPlatform, ...ofProject]],
  ] as const)
    for (const { arguments: given, write } of prompts) {
      const text = write(Object.fromEntries(given.map(({ name }) => [name, `<${name}>`])));
      for (const { name } of given) expect(text).toContain(`<${name}>`);
      const named = [...text.matchAll(/`([a-z]+(?:_[a-z]+)+|lint|lineage|query)`/g)].map(([, name = ""]) => name);
      expect(named.filter((name) => !(tools as readonly string[]).includes(name))).toEqual([]);
      expect(named.length).toBeGreaterThan(1);
      const read = [...text.matchAll(/\(page ([\w-]+) of `read_docs`\)/g)].map(([, page = ""]) => page);
      expect(read.filter((page) => !pages.includes(page))).toEqual([]);
    }
});

test("its tables have every skill and every tool, and what it names is there", async () => {
  expect(firstColumn("Skill").sort()).toEqual([...(await ownSkills()).names]);
  const { context } = await testContext();
  const tools = [
    ...projectTools(context, { diffText: () => "", allowsWrites: true }),
    ...platformTools({ api: context.api, now: () => 0, pages: {}, allowsWrites: true }),
  ];
  expect(firstColumn("Tool").sort()).toEqual(tools.map(({ name }) => name).sort());
  const known = await allFlags();
  expect(flagsOf(PAGE).filter((flag) => !known.has(flag))).toEqual([]);
  const problems = await Promise.all(commandsOf(PAGE).map(commandProblem));
  expect(problems.filter((problem) => problem !== undefined)).toEqual([]);
});
