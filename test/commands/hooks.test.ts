/** Hooks as who deploys a project sees them. */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

setDefaultTimeout(300_000);

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform.server.stop());

const project = (hook: string): string =>
  writeProject({
    "svc.yaml": "project: demo\nenvironments:\n  default: {}\n",
    "resolvers.py": "",
    "features.py": `from svc import before_all, online
from svc.features import features

factor = 1


@features
class User:
    id: int
    size: int


@before_all
def prepare() -> None:
${hook}


@online
def size(id: User.id) -> User.size:
    return id * factor
`,
  });
const run = (dir: string, command: string, words: readonly string[]) =>
  runCommand(command, [...words, "--json"], { home: platform.home, env: platform.env, dir });

test("what a hook prepares is there when a resolver runs", async () => {
  const dir = project("    global factor\n    factor = 10");
  expect((await run(dir, "apply", ["--force", "--await"])).exitCode).toBe(0);
  const answer = await run(dir, "query", ["--in", "user.id=7", "--out", "user.size"]);
  expect(JSON.stringify(answer.json())).toContain("70");
});

test("a hook that fails fails the deployment, with its name, its error and its place, and what was live stays", async () => {
  const dir = project('    raise RuntimeError("no model")');
  const applied = await run(dir, "apply", ["--force", "--await"]);
  expect(applied.exitCode).toBe(1);
  expect(applied.stdout + applied.stderr).toContain(
    "the hook 'features.prepare' (@before_all) failed: RuntimeError: no model (features.py:15)",
  );
  const answer = await run(dir, "query", ["--in", "user.id=7", "--out", "user.size"]);
  expect(JSON.stringify(answer.json())).toContain("70");
});
