/** The help of every group has an example that works as printed, on a server with a project. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { TreeEntry } from "../../src/cli/command.ts";
import { commandTree } from "../../src/commands/index.ts";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

/** Groups that run nothing themselves, by their path. */
function groupsOf(tree: Readonly<Record<string, TreeEntry>>, above: readonly string[] = []): [path: string, entry: TreeEntry][] {
  return Object.entries(tree).flatMap(([name, entry]) => {
    const path = [...above, name];
    const below = entry.verbs ? groupsOf(entry.verbs, path) : [];
    return entry.load === undefined ? [[path.join(" "), entry] as [string, TreeEntry], ...below] : below;
  });
}

/**
 * Groups whose examples need more than a server: a release host, a server of their own, or a
 * database.
 */
const ELSEWHERE: Readonly<Record<string, string>> = {
  releases: "a release host",
  "queries plan": "a query that ran, whose plan has an id of its own",
  incremental: "a resolver that reads a database",
  "streams dead-letters": "a stream that was deployed",
  "notebook kernel": "a project whose requirements have ipykernel",
  server: "they start and stop the server of this machine",
};

let platform: Platform;
let dir: string;
const run = ([first = "", ...others]: readonly string[]) => runCommand(first, others, { ...platform, dir });

beforeAll(async () => {
  platform = await startPlatform();
  dir = writeProject({ "sources.py": 'from svc import TopicSource\n\nclicks = TopicSource(name="clicks")\n' });
  for (const words of [
    ["apply", "--force", "--await"],
    ["apply", "--force", "--await", "--branch=try-it"],
    ["secret", "set", "API_KEY=x"],
    ["flare"],
  ]) {
    const { exitCode, stderr } = await run(words);
    if (exitCode !== 0) throw new Error(`${words.join(" ")}: ${stderr}`);
  }
}, 300_000);
afterAll(() => platform.server.stop());

describe("examples of groups", () => {
  test.each(groupsOf(commandTree).filter(([path]) => ELSEWHERE[path] === undefined))("svc %s", async (_path, { examples = [] }) => {
    const lines = examples.map((example) => (typeof example === "string" ? example : example.run));
    const failed: string[] = [];
    for (const line of lines) {
      if (/[|<>&;$"']/.test(line)) continue;
      const { exitCode, stderr } = await run(line.split(" ").slice(1));
      if (exitCode === 0) return;
      failed.push(`${line}: ${stderr.trim()}`);
    }
    expect(failed).toEqual([]);
    throw new Error(`no example can be run as it is printed: ${lines.join(", ")}`);
  });
});
