/**
 * Vectors and models, as people use them, against a real server and a fake of a model's: the page of
 * the docs is followed from its first block to its last, and what it leaves out comes after it.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { FakeOpenai } from "../harness/fake-openai.ts";
import { type Outcome, type Platform, runCommand, startPlatform } from "./platform.ts";

const PAGE = readFileSync(join(import.meta.dir, "../../docs/vectors.md"), "utf8");

let platform: Platform;
let project: string;
let fake: FakeOpenai;

const svc = (path: string, words: readonly string[], input?: string[]): Promise<Outcome> =>
  runCommand(path, words, { home: platform.home, env: platform.env, dir: project, ...(input && { input }) });

beforeAll(async () => {
  platform = await startPlatform();
  fake = new FakeOpenai("sk-a-key-of-a-fake", () => '{"mood": "good", "stars": 5}');
  project = tempFolder("svc-docs-");
  writeFileSync(join(project, "svc.yaml"), "project: docs\n");
}, 300_000);
afterAll(async () => {
  fake?.[Symbol.dispose]();
  await platform?.server.stop();
});

test("the page of the docs", async () => {
  for (const [, info = "", text = ""] of PAGE.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)) {
    const file = /file: (\S+)$/.exec(info)?.[1];
    if (file !== undefined) {
      writeFileSync(join(project, file), text);
      continue;
    }
    expect(info).toBe("console");
    for (const [, line = "", said = ""] of text.matchAll(/^\$ svc (.*)\n((?:(?!\$ ).*\n)*)/gm)) {
      const given = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
      const length = given.findIndex((word) => word.startsWith("-"));
      const key = given[1] === "insert" ? [`OPENAI_API_KEY=${fake.key}`, `OPENAI_BASE_URL=${fake.url}`] : undefined;
      const outcome = await svc(given.slice(0, length).join("/"), given.slice(length), key);
      expect(outcome.exitCode, `${line}\n${outcome.stderr}`).toBe(0);
      if (process.env.SEE) console.log(`$ ${line}\n${outcome.stderr}${outcome.stdout}`);
      if (said !== "...\n") expect(outcome.stdout.trimEnd().split("\n"), line).toEqual(said.trimEnd().split("\n"));
    }
  }
}, 300_000);
