/** Every command of the tree keeps the house rules. */

import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { AnyCommand, ArgSpecs, FlagSpecs, Group } from "../../src/cli/command.ts";
import { type CommandFileRole, commandFile } from "../../src/cli/command-files.ts";
import { describeCommand, describeEntry, describeTree } from "../../src/cli/describe.ts";
import type { Flag } from "../../src/cli/flag.ts";
import { globalFlags } from "../../src/cli/globals.ts";
import { commandHelp } from "../../src/cli/help.ts";
import { flagName } from "../../src/cli/name.ts";
import { parse } from "../../src/cli/parse.ts";
import { followPath, resolve, walk } from "../../src/cli/resolve.ts";
import { categories, commandTree } from "../../src/commands/index.ts";
import { plainStyle } from "../../src/output/style.ts";
import { runMain } from "../harness/context.ts";

const entries = [...walk(commandTree)];
const loaded: { path: string; words: readonly string[]; summary: string; command: AnyCommand }[] = [];
for (const { path, entry } of entries) {
  if (entry.load) loaded.push({ path: path.join(" "), words: path, summary: entry.summary, command: (await entry.load()).default });
}
const flagsOf = (command: AnyCommand) => Object.entries((command.flags ?? {}) as FlagSpecs);

/**
 * The `svc` commands of a shell line: pipes, lists and substitutions taken apart, redirections
 * left out.
 */
function svcLines(line: string): string[] {
  const parts = line.split(/(?:&&|\||;|\$\(|\)|<\()(?=(?:[^']*'[^']*')*[^']*$)/).map((part) => part.replace(/ [<>] ?\S+/g, "").trim());
  return parts.filter((part) => /^svc( |$)/.test(part));
}

/** A command's words: blanks separate, quotes keep together. */
function shellWords(line: string): string[] {
  return [...line.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) => word.replace(/"([^"]*)"|'([^']*)'/g, "$1$2"));
}

test("the tree has the commands of this tool", () => {
  expect(entries.map(({ path }) => path.join(" "))).toEqual(
    expect.arrayContaining(["login", "apply", "query", "branch list", "features search", "server start", "completion", "help", "version"]),
  );
});

describe.each(entries.map(({ path, entry }) => [path.join(" "), path, entry] as const))("svc %s", (_, path, entry) => {
  test("has a summary that starts with a verb, and a category", () => {
    expect(entry.summary).toMatch(/^[A-Z][a-z]+([ ,]|$)/);
    expect(entry.summary.length).toBeLessThanOrEqual(60);
    expect(entry.summary).not.toEndWith(".");
    expect(entry.summary.split(" ")[0]).not.toMatch(/(s|ing|ed)$/);
    if (path.length === 1) expect(categories as readonly string[]).toContain(entry.category ?? "");
    expect(entry.load !== undefined || entry.verbs !== undefined).toBe(true);
    for (const name of [...path, ...(entry.aliases ?? [])]) expect(name).toMatch(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/);
  });

  test("has help within 80 columns", async () => {
    const { exitCode, stdout } = await runMain([...path, "--help"]);
    expect(exitCode).toBe(0);
    for (const line of stdout.split("\n")) expect([Bun.stringWidth(line) <= 80, line]).toEqual([true, line]);
  });

  test("has help within the 60 columns of a narrow terminal", async () => {
    const command = (await entry.load?.())?.default;
    const info = command ? describeCommand(commandTree, path, command) : describeEntry(commandTree, path);
    const help = commandHelp(commandTree, info, plainStyle({ width: 60 }));
    expect(help.split("\n").filter((line) => Bun.stringWidth(line) > 60)).toEqual([]);
  });
});

const groups = entries.filter(({ entry }) => entry.load === undefined);

test.each(groups.map(({ path, entry }) => [path.join(" "), entry] as const))(
  "svc %s has examples of its verbs that parse",
  async (path, entry) => {
    const { stdout } = await runMain([...path.split(" "), "--help"]);
    expect(entry.examples?.length).toBeGreaterThan(0);
    for (const example of entry.examples ?? []) {
      const line = typeof example === "string" ? example : example.run;
      const found = resolve(commandTree, shellWords(line).slice(1));
      const command = (await found.entry?.load?.())?.default;
      expect([line, found.path.join(" ").startsWith(`${path} `), stdout.includes(line)]).toEqual([line, true, true]);
      parse({ path: line, args: command?.args, flags: command?.flags, takesRest: command?.takesRest }, found, {
        now: 0,
        cwd: "/",
        homeDir: "/",
      });
    }
  },
);

const COMMANDS = join(import.meta.dir, "../../src/commands");

describe("every file below src/commands", () => {
  const files = [...new Bun.Glob("**/*.ts").scanSync(COMMANDS)].sort();
  const ofRole = (role: CommandFileRole) => files.filter((file) => commandFile(file).role === role);

  test.each(ofRole("command"))("%s is the command of its path", async (file) => {
    const { path } = commandFile(file);
    const { default: command, ...others } = (await import(join(COMMANDS, file))) as { default: AnyCommand };
    const { entry } = followPath(commandTree, path);
    expect((await entry?.load?.())?.default).toBe(command);
    expect(Object.keys(others)).toEqual([]);
    for (const word of ["category", "aliases", "selfVerbs", "alsoAt", "hidden"] as const) expect(entry?.[word]).toEqual(command[word]);
  });

  test.each(ofRole("group"))("%s is the heading of a group that runs nothing", async (file) => {
    const { path } = commandFile(file);
    const { default: group } = (await import(join(COMMANDS, file))) as { default: Group };
    const { load, verbs, ...words } = followPath(commandTree, path).entry ?? {};
    expect(words).toEqual(group as unknown as typeof words);
    expect([load, Object.keys(verbs ?? {}).length > 0]).toEqual([undefined, true]);
  });

  test.each([...ofRole("view"), ...ofRole("flags")])(
    "%s is a view or flags of a command beside it, and does nothing itself",
    async (file) => {
      const { role, path } = commandFile(file);
      expect(loaded.some(({ words }) => path.every((word, at) => words[at] === word))).toBe(true);
      const text = await Bun.file(join(COMMANDS, file)).text();
      expect(text).not.toContain("defineCommand(");
      if (role === "view") expect(text).not.toMatch(/from "[./]+\/context\//);
    },
  );

  test("is one of these, but for the tree itself", () => expect(ofRole("tree")).toEqual(["index.ts"]));
});

describe.each(loaded.map((one) => [one.path, one] as const))("svc %s", (path, { words, summary, command }) => {
  test("has its own summary in the tree, a view, and a run", () => {
    expect(command.summary).toBe(summary);
    expect(["table", "text", "bytes", "choice"]).toContain(command.view.kind);
    expect(typeof command.run).toBe("function");
  });

  test("has examples that parse", () => {
    expect(command.examples.length).toBeGreaterThan(0);
    for (const example of command.examples) {
      const lines = svcLines(typeof example === "string" ? example : example.run);
      expect(lines.length).toBeGreaterThan(0);
      const paths = lines.map((line) => {
        const found = resolve(commandTree, shellWords(line).slice(1));
        if (found.path.join(" ") === path) {
          parse({ path, args: command.args, flags: command.flags, takesRest: command.takesRest }, found, {
            now: 0,
            cwd: "/",
            homeDir: "/",
          });
        }
        return found.path.join(" ");
      });
      expect(paths).toContain(path);
    }
  });

  test("has well-formed flags and arguments", () => {
    const spellings = new Map<string, string>();
    for (const [key, flag] of flagsOf(command)) {
      expect(flagName(key)).toMatch(/^--[a-z][a-z0-9]*(-[a-z0-9]+)*$/);
      expect(flag.meaning).toMatch(/^([^A-Z]|[A-Z]{2}).*[^.]$/);
      if (flag.type === "enum") expect(flag.values?.length ?? 0).toBeGreaterThan(1);
      for (const spelling of [flagName(key), ...flag.aliases]) {
        expect(spelling).toMatch(/^--[a-z][a-z0-9]*(-[a-z0-9]+)*$|^-[a-zA-Z]{1,2}$/);
        expect([spelling, spellings.get(spelling)]).toEqual([spelling, undefined]);
        spellings.set(spelling, key);
      }
      if (flag.aliases.includes("-f")) expect(flag.aliases).not.toContain("--force");
    }
    const args = Object.values((command.args ?? {}) as ArgSpecs);
    args.forEach((arg, i) => {
      expect(arg.meaning).not.toEndWith(".");
      if (arg.variadic) expect(i).toBe(args.length - 1);
      if (arg.required && i > 0) expect(args[i - 1]?.required).toBe(true);
    });
    expect(words.length).toBeLessThan(5);
  });
});

/**
 * Names with two meanings: the features that a query asks for and the file that others write; the
 * values that it is given and the file that others read; the plan that a query prints and the rule
 * that lint explains; one name, and those that are deleted; the tags of traffic with their weights,
 * and those of features; the namespace of features, and those of processes; the end of a silence,
 * and of a range of times; the format of metrics, and where others write to; the pod of a shell, and
 * those whose events are listed; the interpreter of an installation, also by name, and of a kernel.
 */
const TWO_MEANINGS: Readonly<Record<string, readonly string[]>> = {
  "--out": ["query", "offline-query", "offline-query retry", "benchmark run"],
  "--in": ["codegen pydantic"],
  "--explain": ["lint"],
  "--name": ["secret delete", "integration delete", "benchmark download"],
  "--pod": ["shell"],
  "--python": ["notebook kernel install"],
  "--tags": ["delete", "container run", "scaling-group create"],
  "--namespace": ["kube events list"],
  "--time": ["offline-query"],
  "--end": ["monitors silence"],
  "--version": ["compute get", "compute call"],
  "--output": ["metrics query"],
  "--metadata": ["eval trigger"],
  "--secret": ["container run", "scaling-group create"],
  "--timeout": ["sandbox create", "sandbox exec"],
};

test("a flag's name has one type everywhere", () => {
  const kinds = new Map<string, { kind: string; where: string }>();
  const kindOf = (flag: Flag<unknown>) => `${flag.type}${flag.repeatable ? "[]" : ""}`;
  for (const [key, flag] of Object.entries(globalFlags)) kinds.set(flagName(key), { kind: kindOf(flag), where: "global" });
  const two: string[] = [];
  for (const { path, command } of loaded) {
    for (const [key, flag] of flagsOf(command)) {
      if (TWO_MEANINGS[flagName(key)]?.includes(path)) continue;
      const known = kinds.get(flagName(key));
      if (known && known.kind !== kindOf(flag)) two.push(`${flagName(key)}: ${known.kind} in ${known.where}, ${kindOf(flag)} in ${path}`);
      kinds.set(flagName(key), known ?? { kind: kindOf(flag), where: path });
    }
  }
  expect(two).toEqual([]);
});

test("help --all --json is the whole tree", async () => {
  const { stdout } = await runMain(["help", "--all", "--json"]);
  const tree = JSON.parse(stdout) as ReturnType<typeof describeTree>;
  expect(tree.commands.map(({ path }) => path)).toEqual(entries.map(({ path }) => path.join(" ")));
  expect(tree.globals.map(({ name }) => name)).toEqual(Object.keys(globalFlags).map(flagName));
  const resolvers = tree.commands.find(({ path }) => path === "resolvers");
  expect(resolvers?.aliases).toEqual(["resolvers list", "resolvers display"]);
  const shell = tree.commands.find(({ path }) => path === "completion")?.args[0];
  expect(shell).toMatchObject({ name: "shell", required: true, variadic: false });
  const version = tree.commands.find(({ path }) => path === "version");
  expect(version?.flags[0]).toMatchObject({ name: "--tag-only", type: "bool", default: false, repeatable: false });
});

test("the whole tree is described without loading anything", async () => {
  const { commands } = describeTree(commandTree);
  expect(commands.every(({ flags }) => flags.length === 0)).toBe(true);
  const { stdout } = await runMain([]);
  const nouns = entries.filter(({ path }) => path.length === 1);
  const width = Math.max(...nouns.map(({ path }) => path[0]?.length ?? 0));
  for (const { path, entry } of nouns) expect(stdout).toContain(`${path[0]?.padEnd(width)}  ${entry.summary}`);
});
