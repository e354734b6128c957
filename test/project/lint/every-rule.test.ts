/**
 * Every rule of the table has a failing project here, which `svc lint` must find: number, place and
 * words.
 */

import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { RULES } from "../../../src/domain/rules/rules.ts";
import { tempFolder } from "../../client/test-context.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "../../commands/platform.ts";
import { marked } from "../../harness/marked.ts";
import { DEFINITION_FIXTURES } from "./definition-fixtures.ts";
import type { RuleFixture } from "./fixtures.ts";
import { GRAPH_FIXTURES } from "./graph-fixtures.ts";

setDefaultTimeout(300_000);

interface Shown {
  readonly code: number;
  readonly severity: 1 | 2;
  readonly message: string;
  readonly uri: string;
  readonly range: { readonly start: { readonly line: number; readonly character: number }; readonly end: unknown };
}

const FIXTURES = [...DEFINITION_FIXTURES, ...GRAPH_FIXTURES];
const home = tempFolder("svc-rules-");
let platform: Platform;
beforeAll(async () => {
  const db = new Database(join(home, "app.db"), { create: true });
  db.run("create table app_user (id integer primary key, name text, mail text)");
  db.close();
  platform = await startPlatform({ LITE_SQLITE_PATH: join(home, "app.db") });
});
afterAll(() => platform.server.stop());

/** Position of an offset as editors say it. */
function position(text: string, offset: number) {
  const lines = text.slice(0, offset).split("\n");
  return { line: lines.length - 1, character: lines.at(-1)?.length ?? 0 };
}

/** Writes the project without its marks; gives the folder and where the mark was. */
function write({ files, settings = "" }: RuleFixture) {
  const texts: Record<string, string> = {
    "resolvers.py": "",
    "svc.yaml": `project: demo\nenvironments:\n  default:\n${settings.startsWith(" ") ? settings : `    {}\n${settings}`}`,
  };
  let mark: { path: string; range: Shown["range"] } | undefined;
  for (const [path, source] of Object.entries(files)) {
    const { text, marks } = marked(source);
    texts[path] = text;
    for (const { start, end } of marks) mark = { path, range: { start: position(text, start), end: position(text, end) } };
  }
  return { folder: writeProject(texts), mark };
}

describe("every rule has a project that breaks it", () => {
  for (const fixture of FIXTURES)
    test(`${fixture.rule}${fixture.remote ? ", by the server" : ""}`, async () => {
      const { folder, mark } = write(fixture);
      const words = fixture.remote ? ["--json"] : ["--local", "--json"];
      const done = await runCommand("lint", words, { home, env: { ...platform.env, ...fixture.env }, dir: folder });
      const all = done.json() as Shown[];
      const found = all.filter(({ code, severity }) => `${severity === 1 ? "E" : "W"}${code}` === fixture.rule);
      const others = all.filter((one) => one.severity === 1 && !found.includes(one) && !fixture.beside?.includes(one.code));
      expect(others.map(({ code, message }) => `${code} ${message}`)).toEqual([]);
      expect(found.map(({ message }) => message.split("\n")[0])).toEqual([
        typeof fixture.says === "string" ? fixture.says : expect.stringMatching(fixture.says),
      ]);
      if (mark) expect(found[0]).toMatchObject({ uri: Bun.pathToFileURL(join(folder, mark.path)).href, range: mark.range });
      expect(done.exitCode).toBe(fixture.rule.startsWith("E") ? 1 : 0);
    });
});

test("every rule of the table is here, and no other", () => {
  expect([...new Set(FIXTURES.map(({ rule }) => Number(rule.slice(1))))].sort()).toEqual(RULES.map(({ code }) => code));
});
