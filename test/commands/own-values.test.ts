/** Values of a project's own classes: the page of the docs is followed from its first block to its last. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { followPage } from "../harness/docs-page.ts";
import { type Outcome, type Platform, runCommand, startPlatform } from "./platform.ts";

setDefaultTimeout(300_000);

let platform: Platform;
let project: string;

const svc = (path: string, ...words: readonly string[]): Promise<Outcome> =>
  runCommand(path, words, { home: platform.home, env: platform.env, dir: project });

beforeAll(async () => {
  platform = await startPlatform();
  project = tempFolder("svc-docs-");
});
afterAll(() => platform?.server.stop());

/** The lines of a text, with any number of spaces as one. */
const steady = (text: string): string[] =>
  text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trimEnd().replaceAll(/ {2,}/g, " ")]));

test("the page of the docs", async () => {
  await followPage("own-values.md", project, async ({ line, words, said }) => {
    const outcome = await svc(words[0] ?? "", ...words.slice(1));
    expect(outcome.exitCode, `${line}\n${outcome.stderr}`).toBe(0);
    const shown = steady(said.replace(/^\.\.\.\n$/m, ""));
    expect(steady(outcome.stdout).slice(0, shown.length), line).toEqual(shown);
  });
});

test("a value that breaks a check, and one that cannot be decoded, fail", async () => {
  const strict = await svc("query", "--in", "user.id=200", "--out", "user.home", "--json");
  expect(strict.stdout).toContain("check=<lambda>");
  const unreadable = await svc("query", "--in", "user.id=1", "--in", "user.home=nowhere", "--out", "user.is_private", "--json");
  expect(unreadable.stdout).toContain("AddressValueError");
});

test("offline queries compute with such values too", async () => {
  const words = ["--in", "user.id=7", "--out", "user.home,user.is_private", "--recompute", "--await"];
  const outcome = await svc("offline-query", ...words, "--output-file", "answer.csv");
  expect(outcome.exitCode, outcome.stderr).toBe(0);
  expect(await Bun.file(join(project, "answer.csv")).text()).toMatch(/7.*10\.0\.0\.7.*true/);
});
