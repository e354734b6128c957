/** The search in help, over commands, pages and rules. */

import { expect, test } from "bun:test";
import { runCommand } from "./platform.ts";

interface Hits {
  readonly hits: readonly { readonly kind: string; readonly run: string; readonly summary: string; readonly detail: string }[];
}
const search = async (...words: string[]) => ((await runCommand("help", [...words, "--json"])).json() as Hits).hits;

test("words that name no command are looked for in commands, pages and rules", async () => {
  expect((await search("dead", "letters"))[0]?.run).toStartWith("svc streams dead-letters");
  expect((await search("rollback"))[0]?.run).toBe("svc deployment rollback --help");
  expect((await search("staleness")).find(({ run }) => run === "svc query --help")?.detail).toStartWith("--staleness: ");
  const kinds = new Set((await Promise.all([search("kept", "window"), search("lag", "metric")])).flat().map(({ kind }) => kind));
  expect(kinds).toEqual(new Set(["command", "page", "rule"]));
  for (const hit of await search("primary", "key")) expect(hit.summary).not.toBe("");
});

test("a command's name gives its help, and with --find what else has it", async () => {
  expect((await runCommand("help", ["server", "start"])).stdout).toStartWith("Start the embedded server");
  expect((await search("--find", "secret")).map(({ run }) => run)).toContain("svc secret set --help");
  const unknown = await runCommand("help", ["aply"]);
  expect([unknown.exitCode, unknown.stderr]).toEqual([2, expect.stringContaining("did you mean 'svc apply'?")]);
  const nothing = await runCommand("help", ["zzq", "qqz"]);
  expect([nothing.exitCode, nothing.stderr]).toEqual([2, expect.stringContaining("no command, page or rule has 'zzq qqz'")]);
  for (const words of [["--find"], ["--find", "x", "--all"], ["--find", "x", "--manual", "y"]])
    expect((await runCommand("help", words)).exitCode).toBe(2);
});
