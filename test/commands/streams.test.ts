/** `svc streams`, as people type it: the page of the docs is followed from its first block to its last. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { followPage } from "../harness/docs-page.ts";
import { type Outcome, type Platform, runCommand, startPlatform } from "./platform.ts";

/** Where the words of a command's name end. */
const NAME_END = /^(apply|push|get|list|query|pause|seek|resume)$/;

let platform: Platform;
let project: string;

const svc = (path: string, ...words: readonly string[]): Promise<Outcome> =>
  runCommand(path, words, { home: platform.home, env: platform.env, dir: project });

beforeAll(async () => {
  platform = await startPlatform();
  project = tempFolder("svc-docs-");
  writeFileSync(join(project, "svc.yaml"), "project: docs\n");
}, 300_000);
afterAll(() => platform?.server.stop());

/** The lines of a text, with any number of spaces as two. */
const steady = (text: string): string[] =>
  text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trimEnd().replaceAll(/ {2,}/g, "  ")]));

test("the page of the docs", async () => {
  await followPage("streams.md", project, async ({ line, words, said }) => {
    const length = words.findIndex((word) => NAME_END.test(word)) + 1;
    const outcome = await svc(words.slice(0, length).join("/"), ...words.slice(length));
    expect(outcome.exitCode, `${line}\n${outcome.stderr}`).toBe(0);
    const shown = steady(said.replace(/^\.\.\.\n$/m, ""));
    expect(steady(outcome.stdout).slice(0, shown.length), line).toEqual(shown);
  });
}, 300_000);

test("the resolver of a topic's messages is shown with its source and its version", async () => {
  const { stdout } = await svc("resolvers/show", "on_payment");
  expect(stdout).toMatch(/^Kind: +stream, /m);
  expect(stdout).toMatch(/^Version: +1$/m);
  expect(stdout).toContain("def on_payment(");
  expect((await svc("resolvers/show", "on_payment", "--json")).json()).toMatchObject({
    stream_resolver: { source: "payments" },
    version: 1,
  });
});

test("a kept aggregate is filled up to the latest row of its stream", async () => {
  // The page has sent the stream to another place, from where on it has read nothing.
  expect((await svc("aggregate/list")).stdout).toMatch(/in part$/m);
  await svc("topic/push", "--topic", "payments", "--value", '{"id": 9, "user": 7, "amount": 0, "at": "now()"}');
  expect((await svc("streams/get", "on_payment", "--wait")).stdout).not.toContain("Problem:");
  const listed = await svc("aggregate/list");
  expect([listed.exitCode, listed.stdout]).toEqual([0, expect.stringMatching(/^\d+ .* \d{4}-\d{2}-\d{2}T\S+ by a stream$/m)]);
  const { series } = (await svc("aggregate/list", "--json")).json() as {
    series: { namespace: string; streamed_until: string; filled_until: unknown }[];
  };
  expect(series.filter(({ namespace }) => namespace === "payment")).toMatchObject([
    { streamed_until: expect.stringContaining("T"), filled_until: null },
  ]);
}, 300_000);

test("a dead letter that fails again ends the command with 1, and one that is none is refused", async () => {
  const again = await svc("streams/dead-letters/replay", "on_payment");
  expect([again.exitCode, /^Failed again: +1$/m.test(again.stdout)]).toEqual([1, true]);
  const none = await svc("streams/dead-letters/replay", "on_payment", "--letter", "9999");
  expect([none.exitCode === 0, none.stderr]).toEqual([false, expect.stringContaining("has no dead letter 9999")]);
}, 300_000);

test.each([
  [["--store-offline"], "--store-offline needs --lower-bound and --upper-bound"],
  [["--allow-empty-tiles"], "--allow-empty-tiles needs --store-offline"],
  [["--input-sql", "select 1", "--resolver", "all"], "--input-sql and --resolver exclude each other"],
  [["--input-sql", "select 1", "--tag", "old"], "--input-sql and --tag exclude each other"],
  [["--input-sql", "@missing.sql"], "there is no file missing.sql"],
])("a backfill with %j is refused", async (words, why) => {
  const outcome = await svc("aggregate/backfill", "--feature", "user.spend", ...words);
  expect(outcome.exitCode).not.toBe(0);
  expect(outcome.stderr).toContain(why);
});
