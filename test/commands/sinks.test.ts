/** Sinks, as people use them: the page of the docs is followed from its first block to its last. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { tempFolder } from "../client/test-context.ts";
import { followPage } from "../harness/docs-page.ts";
import { eventually } from "../harness/eventually.ts";
import { type Outcome, type Platform, runCommand, startPlatform } from "./platform.ts";

let platform: Platform;
let project: string;

const svc = (path: string, ...words: readonly string[]): Promise<Outcome> =>
  runCommand(path, words, { home: platform.home, env: platform.env, dir: project });

beforeAll(async () => {
  platform = await startPlatform();
  project = tempFolder("svc-docs-");
}, 300_000);
afterAll(() => platform?.server.stop());

/** The lines of a text, with any number of spaces as one. */
const steady = (text: string): string[] =>
  text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trimEnd().replaceAll(/ {2,}/g, " ")]));

test("the page of the docs", async () => {
  await followPage("sinks.md", project, async ({ line, words, said }) => {
    const isNested = words[0] === "resolvers";
    const outcome = await svc(isNested ? words.slice(0, 2).join("/") : (words[0] ?? ""), ...words.slice(isNested ? 2 : 1));
    expect(outcome.exitCode, `${line}\n${outcome.stderr}`).toBe(0);
    const shown = steady(said.replace(/^\.\.\.\n$/m, ""));
    expect(steady(outcome.stdout).slice(0, shown.length), line).toEqual(shown);
  });
  await eventually(
    async () => (await svc("logs", "--query", "resolver:features.tell")).stdout.includes("score of 1 is 6.0"),
    "the row is handed over",
  );
  expect((await svc("resolvers")).stdout).toContain("Rows are handed to features.tell: `svc resolvers show features.tell`.");
  const shown = (await svc("resolvers/show", "tell", "--json")).json() as { sink_resolver: { columns: string[] } };
  expect(shown.sink_resolver.columns).toEqual(["user.id", "user.score"]);
}, 300_000);
