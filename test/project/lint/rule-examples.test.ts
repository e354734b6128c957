/**
 * The examples of the table of rules: what is shown as broken gives that finding and no other, and
 * what is shown as mended gives none.
 */

import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { BAD_PROJECT_FILE, NO_INTERPRETER } from "../../../src/domain/rules/project.ts";
import type { ExampleFiles } from "../../../src/domain/rules/rule.ts";
import { EXAMPLE_IMPORTS, RULES } from "../../../src/domain/rules/rules.ts";
import { lintStatically } from "../../../src/project/lint/lint.ts";
import { tempFolder } from "../../client/test-context.ts";
import { runCommand, writeProject } from "../../commands/platform.ts";

setDefaultTimeout(300_000);

const home = tempFolder("svc-rule-examples-");

/** The files as they are run: Python files with their imports. */
function wholeFiles(files: ExampleFiles): Record<string, string> {
  const settings = { "svc.yaml": "project: demo\nenvironments:\n  default: {}\n", "resolvers.py": "" };
  const whole = Object.entries(files).map(([path, text]) => [path, path.endsWith(".py") ? `${EXAMPLE_IMPORTS}${text}` : text]);
  return { ...settings, ...Object.fromEntries(whole) };
}

/**
 * The numbers that `svc lint --local` shows, each once. A machine may lack the Python that an
 * example names.
 */
async function linted(files: ExampleFiles): Promise<number[]> {
  const done = await runCommand("lint", ["--local", "--json"], { home, dir: writeProject(wholeFiles(files)) });
  const codes = (done.json() as { readonly code: number }[]).map(({ code }) => code);
  return [...new Set(codes)].filter((code) => code !== NO_INTERPRETER.code);
}

/** The numbers that the text alone gives. */
function written(files: ExampleFiles): number[] {
  const runtime = /runtime: (\w+)/.exec(files["svc.yaml"] ?? "")?.[1];
  const policy = files["svc.yaml"]?.includes("name: owner") ? ({ resolver: [{ name: "owner", missing: "error" }] } as const) : {};
  const texts = Object.entries(wholeFiles(files)).map(([path, text]) => ({ path, text }));
  const findings = lintStatically({ files: texts, policy, skipDrivers: true, ...(runtime ? { runtime } : {}) });
  return [...new Set(findings.map(({ code }) => code))];
}

describe("svc lint finds in the example", () => {
  for (const { code, example, id } of RULES)
    if (!("none" in example))
      test(`${code}, ${id}`, async () => {
        expect(await Promise.all([linted(example.broken), linted(example.mended)])).toEqual([[code], []]);
      });
});

describe("the text alone shows it", () => {
  for (const { code, example, foundBy, id } of RULES)
    if (!("none" in example) && foundBy[0] === "text" && code !== BAD_PROJECT_FILE.code)
      test(`${code}, ${id}`, () => {
        expect([written(example.broken), written(example.mended)]).toEqual([[code], []]);
      });
});

test("the rules without an example say why", () => {
  const without = RULES.flatMap(({ code, example }) => ("none" in example ? [[code, example.none.length > 20]] : []));
  expect(without).toEqual([
    [154, true],
    [159, true],
    [176, true],
    [191, true],
    [194, true],
    [209, true],
  ]);
});
