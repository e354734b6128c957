/** Options of features, from a project's text to what queries answer. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

let platform: Platform;
let project = "";
const run = (path: string, words: readonly string[]) => runCommand(path, words, { home: platform.home, env: platform.env, dir: project });

interface Answer {
  readonly data: { field: string; value: unknown; error?: { code: string; message: string } }[];
  readonly meta: { warnings?: string[] };
}
const ask = async (...words: string[]) => (await run("query", [...words, "--json"])).json() as Answer;

const FEATURES = `from svc.features import Windowed, feature, features, windowed


@features
class Person:
    id: int
    # Use name
    label: str = feature(deprecated=True, default="none")
    name: str = "nobody"
    calls: Windowed[int] = windowed("1d", "7d", default=0, deprecated=True)
`;

beforeAll(async () => {
  platform = await startPlatform();
  project = writeProject({ "features.py": FEATURES, "resolvers.py": "" });
  const done = await run("apply", ["--force", "--await"]);
  if (done.exitCode !== 0) throw new Error(done.stderr + done.stdout);
}, 60_000);
afterAll(() => platform.server.stop());

describe("deprecated", () => {
  test("a query is told of each output that is deprecated, in JSON and on the terminal", async () => {
    const told = ["person.label is deprecated: Use name", "person.calls[1d] is deprecated"];
    const words = ["--in", "person.id=1", "--out", "person.label", "--out", "person.name", "--out", "person.calls[1d]"];
    expect((await ask(...words)).meta.warnings).toEqual(told);
    const { stderr } = await run("query", words);
    expect(stderr).toContain(told.map((one) => `Warning: ${one}\n`).join(""));
    const bulk = (await run("query", ["--bulk", "--in", "person.id=1", "--in", "person.id=2", "--out", "person.label", "--json"])).json();
    expect(bulk).toMatchObject({ meta: { warnings: told.slice(0, 1) } });
    expect((await ask("--in", "person.id=1", "--out", "person.name")).meta.warnings).toBeUndefined();
  });

  test("its page says so", async () => {
    expect((await run("features/show", ["person.label"])).stdout).toMatch(/^Deprecated: yes$/m);
  });
});
