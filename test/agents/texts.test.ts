/**
 * What coding agents are told is true: the commands, flags and names of the instructions and of every
 * skill are there, and what they show runs.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publicNames } from "../../src/agents/baked-public-names.ts";
import { skillTexts } from "../../src/agents/baked-skills.ts";
import { MAX_INSTRUCTIONS } from "../../src/agents/instructions.ts";
import { ownSkills } from "../../src/agents/skill-source.ts";
import { tempFolder } from "../client/test-context.ts";
import { type Platform, runCommand, startPlatform } from "../commands/platform.ts";
import { followText } from "../harness/docs-page.ts";
import { allFlags, commandProblem, commandsOf, flagsOf, importsOf } from "./written-commands.ts";

let platform: Platform;
let instructions: string;

/** A new folder of a project of its own. */
function project(name: string): string {
  const folder = join(tempFolder("svc-agents-"), name);
  mkdirSync(folder);
  writeFileSync(join(folder, "svc.yaml"), `project: ${name}\n`);
  return folder;
}

const run = (dir: string, words: readonly string[]) =>
  runCommand(words[0] ?? "", words.slice(1), { home: platform.home, env: platform.env, dir });

beforeAll(async () => {
  const databases = tempFolder("svc-agents-");
  const made = (name: string, statements: string): string => {
    using database = new Database(join(databases, name));
    database.run(statements);
    return database.filename;
  };
  platform = await startPlatform({
    PAYMENTS_SQLITE_PATH: made(
      "payments.db",
      `create table payment (id integer primary key, user_id int, at text, amount real, refused int);
       insert into payment values (1, 7, '2026-02-03T08:15:00Z', 20.0, 0), (2, 7, '2026-02-20T17:40:00Z', 54.5, 1)`,
    ),
    STATS_SQLITE_PATH: made(
      "stats.db",
      `create table driver_hourly_stats (driver_id int, event_timestamp text, conv_rate real, acc_rate real);
       insert into driver_hourly_stats values (1001, '2026-01-01T00:00:00Z', 0.1, 0.2), (1001, '2026-01-01T01:00:00Z', 0.5, 0.9)`,
    ),
    SHOP_SQLITE_PATH: made(
      "shop.db",
      `create table orders (id integer primary key, user_id int, at text, amount real);
       insert into orders values (1, 7, '2026-02-28T08:15:00Z', 20.0)`,
    ),
  });
  const folder = project("told");
  expect((await run(folder, ["init", "agent-prompt", "codex"])).exitCode).toBe(0);
  instructions = readFileSync(join(folder, "AGENTS.md"), "utf8");
}, 300_000);
afterAll(() => platform?.server.stop());

const texts = () => [["instructions", instructions] as const, ...Object.entries(skillTexts)];

describe("what is named is there", () => {
  test("commands, with the flags and arguments that are shown", async () => {
    const problems: string[] = [];
    for (const [name, text] of texts()) {
      const commands = commandsOf(text);
      expect(commands.length, name).toBeGreaterThan(5);
      for (const words of commands) {
        const problem = await commandProblem(words);
        if (problem !== undefined) problems.push(`${name}: ${problem}`);
      }
    }
    expect(problems).toEqual([]);
  });

  test("flags that stand alone", async () => {
    const known = await allFlags();
    const unknown = texts().flatMap(([name, text]) => flagsOf(text).flatMap((flag) => (known.has(flag) ? [] : [`${name}: ${flag}`])));
    expect(unknown).toEqual([]);
  });

  test("names of the Python package", () => {
    const known = (module: string, name: string) =>
      module === "svc" ? Object.values(publicNames).some((names) => names.includes(name)) : (publicNames[module]?.includes(name) ?? false);
    const imported = texts().flatMap(([name, text]) => importsOf(text).map(([module, one]) => ({ name, module, one })));
    expect(imported.length).toBeGreaterThan(30);
    // Modules offer more than the names that advice gives to them first: the sessions below import all.
    const elsewhere = ["svc.features", "svc.streams", "svc.sources"];
    expect(imported.filter(({ module, one }) => !known(elsewhere.includes(module) ? "svc" : module, one))).toEqual([]);
  });
});

describe("the instructions", () => {
  test("are short, and name every skill and module", () => {
    expect(Buffer.byteLength(instructions)).toBeLessThanOrEqual(MAX_INSTRUCTIONS);
    for (const name of Object.keys(skillTexts)) expect(instructions).toContain(name);
    for (const module of Object.keys(publicNames)) expect(instructions).toContain(`\`${module}\``);
  });

  test("show a project that can be deployed and asked", async () => {
    const folder = project("shown");
    const block = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(instructions)?.[1] ?? "";
    writeFileSync(join(folder, "features.py"), block("python"));
    writeFileSync(join(folder, "order.svc.sql"), block("sql"));
    writeFileSync(join(folder, "sources.py"), 'from svc.sources import SQLiteSource\n\nshop = SQLiteSource(name="shop")\n');
    const linted = await run(folder, ["lint"]);
    expect(linted.stdout + linted.stderr).toContain("No problems found");
    expect((await run(folder, ["apply", "--force", "--await"])).exitCode).toBe(0);
    const words = ["--in", "user.id=7", "--in", "user.email=Eve@Shop.Example", "--out", "user.risk", "--out", "user.spent"];
    const asked = await run(folder, ["query", ...words, "--now", "2026-03-01T00:00:00Z", "--json"]);
    const values = (asked.json() as { data: { field: string; value: unknown }[] }).data.map(({ field, value }) => [field, value]);
    expect(values).toEqual([
      ["user.risk", "high"],
      ["user.spent__86400__", 20],
      ["user.spent__2592000__", 20],
    ]);
  }, 300_000);
});

describe("skills", () => {
  test("have front matter as the format has it, and are short", async () => {
    const source = await ownSkills();
    expect(source.names.length).toBeGreaterThanOrEqual(7);
    for (const name of source.names) {
      const { description, files } = await source.load(name);
      expect([name, description.includes("Use when") || description.includes("Use for") || description.includes("Use before")]).toEqual([
        name,
        true,
      ]);
      expect(files.map(({ path }) => path)).toEqual(["SKILL.md"]);
      expect((files[0]?.content.length ?? 0) < 6_000, name).toBe(true);
    }
  });

  test.each(Object.keys(skillTexts))(
    "%s: its session",
    async (name) => {
      const folder = project(name.replaceAll("-", "_"));
      await followText(skillTexts[name] ?? "", folder, async ({ line, words, said }) => {
        const outcome = await run(folder, words);
        expect(outcome.exitCode, `${line}\n${outcome.stdout}${outcome.stderr}`).toBe(0);
        const wanted = said.split("\n").filter((one) => one !== "" && one !== "...");
        const lines = outcome.stdout.split("\n").map(steady);
        for (const one of wanted) expect(lines, line).toContain(steady(one));
      });
    },
    300_000,
  );
});

/** A line with any number of blanks as one. */
const steady = (line: string): string => line.trim().replaceAll(/ {2,}/g, " ");
