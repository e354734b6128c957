/** The Python module of rules, and the names under which both languages use them. */

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import * as classes from "../../../src/domain/rules/classes.ts";
import * as expressions from "../../../src/domain/rules/expressions.ts";
import * as graph from "../../../src/domain/rules/graph.ts";
import * as loading from "../../../src/domain/rules/loading.ts";
import * as project from "../../../src/domain/rules/project.ts";
import { attributeName, className, RULES_MODULE_PATH, rulesModule } from "../../../src/domain/rules/python-module.ts";
import * as relations from "../../../src/domain/rules/relations.ts";
import * as resolvers from "../../../src/domain/rules/resolvers.ts";
import { PLACEHOLDER } from "../../../src/domain/rules/rule.ts";
import { RULES } from "../../../src/domain/rules/rules.ts";
import * as sqlFiles from "../../../src/domain/rules/sql-files.ts";

const ROOT = join(import.meta.dir, "../../..");
const MODULES = { classes, expressions, graph, loading, project, relations, resolvers, sqlFiles };

/** The text of all files below a folder that match, joined. */
function sources(pattern: string, but: RegExp): string {
  const paths = [...new Glob(pattern).scanSync(ROOT)].filter((path) => !but.test(path));
  return paths.map((path) => readFileSync(join(ROOT, path), "utf8")).join("\n");
}

const TYPESCRIPT = sources("src/**/*.ts", /^src\/domain\/rules\//);
const PYTHON = sources("src/sdk/svc/**/*.py", /\/_diagnostics\/rules\.py$/);

test("the module is the one that the table gives", () => {
  expect(readFileSync(join(ROOT, RULES_MODULE_PATH), "utf8")).toBe(rulesModule());
});

test("numbers and ids are each given once, and a rule's constant is its id", () => {
  expect(new Set(RULES.map(({ code }) => code)).size).toBe(RULES.length);
  expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length);
  for (const module of Object.values(MODULES))
    for (const [name, rule] of Object.entries(module)) expect(name).toBe(rule.id.toUpperCase().replaceAll("-", "_"));
});

test("every message is said by one of the languages", () => {
  const unsaid = RULES.flatMap(({ id, messages }) =>
    Object.keys(messages).flatMap((name) => {
      const constant = id.toUpperCase().replaceAll("-", "_");
      const isSaid = TYPESCRIPT.includes(`${constant}.${name}(`) || PYTHON.includes(`rules.${className(id)}.${attributeName(name)}`);
      return isSaid ? [] : [`${constant}.${name}`];
    }),
  );
  expect(unsaid).toEqual([]);
});

test("Python gives every message of the analyzer the values that its text names", () => {
  const calls = [...PYTHON.matchAll(/rules\.(\w+)\.(\w+)\(/g)];
  expect(calls.length).toBeGreaterThan(150);
  for (const call of calls) {
    const rule = RULES.find(({ id }) => className(id) === call[1]);
    const [, said] = Object.entries(rule?.messages ?? {}).find(([name]) => attributeName(name) === call[2]) ?? [];
    const named = [...`${said?.text} ${said?.label}`.matchAll(PLACEHOLDER)].map(([, name]) => name as string);
    const given = argumentsAt(PYTHON, call.index + call[0].length);
    expect([call[0], ...given.sort()]).toEqual([call[0], ...[...new Set(named)].sort()]);
  }
});

/** The names of the keyword arguments of a call of Python, from behind its opening parenthesis. */
function argumentsAt(text: string, start: number): string[] {
  let depth = 1;
  let end = start;
  let quote = "";
  let own = "";
  for (; depth > 0; end++) {
    const sign = text[end] as string;
    if (quote !== "") {
      if (sign === quote) quote = "";
      continue;
    }
    if (sign === '"' || sign === "'") quote = sign;
    else if ("([{".includes(sign)) depth++;
    else if (")]}".includes(sign)) depth--;
    else if (depth === 1) own += sign;
  }
  return [...own.matchAll(/(?:^|,)\s*(\w+)=/g)].map(([, name]) => name as string);
}
