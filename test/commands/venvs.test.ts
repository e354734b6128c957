/** Venvs, as people use them: the page of the docs is followed from its first block to its last. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempFolder } from "../client/test-context.ts";
import { followPage } from "../harness/docs-page.ts";
import { anyPython } from "../server/python/project.ts";
import { type Outcome, type Platform, runCommand, startPlatform } from "./platform.ts";

/** Makes the wheel whose path is given. */
const WHEEL = `
import sys, zipfile
code = """
class Model:
    def predict(self, total):
        return total / 100
"""
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    wheel.writestr("scoring.py", code)
    wheel.writestr("scoring-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: scoring\\nVersion: 1.0\\n")
    wheel.writestr("scoring-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("scoring-1.0.dist-info/RECORD", "")
`;

let platform: Platform;
let project: string;

const svc = (path: string, ...words: readonly string[]): Promise<Outcome> =>
  runCommand(path, words, { home: platform.home, env: platform.env, dir: project });

beforeAll(async () => {
  platform = await startPlatform();
  project = tempFolder("svc-docs-");
  const made = Bun.spawnSync([(await anyPython()) as string, "-c", WHEEL, join(project, "scoring-1.0-py3-none-any.whl")]);
  if (made.exitCode !== 0) throw new Error(made.stderr.toString());
}, 300_000);
afterAll(() => platform?.server.stop());

/** The lines of a text, with any number of spaces as two. */
const steady = (text: string): string[] =>
  text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trimEnd().replaceAll(/ {2,}/g, "  ")]));

test("the page of the docs", async () => {
  await followPage("venvs.md", project, async ({ line, words, said }) => {
    const outcome = await svc(words[0] ?? "", ...words.slice(1));
    expect(outcome.exitCode, `${line}\n${outcome.stderr}`).toBe(0);
    const shown = steady(said.replace(/^\.\.\.\n$/m, ""));
    expect(steady(outcome.stdout).slice(0, shown.length), line).toEqual(shown);
  });
  expect((await svc("resolvers/show", "risk")).stdout).toMatch(/^Venv: +scoring$/m);
  const { environments } = (await svc("project", "--json")).json() as { environments: { venvs: unknown }[] };
  expect(environments[0]?.venvs).toEqual([{ name: "scoring", requirements: "requirements-scoring.txt", runtime: null }]);
}, 300_000);

test("an evaluation runs in its venv, and imports its module alone", async () => {
  writeFileSync(join(project, "orders.csv"), "total,expected\n100,1\n200,2\n");
  writeFileSync(
    join(project, "evaluations.py"),
    `from svc.evaluations import Evaluation, numeric


def predicted(total):
    import sys
    import scoring

    if "features" in sys.modules:
        raise ValueError("the whole project was imported")
    return scoring.Model().predict(total)


Evaluation("risk", dataset="orders", task=predicted, scorers=[numeric("expected")], venv="scoring")
`,
  );
  expect((await svc("dataset/upload", "orders.csv", "--name", "orders")).exitCode).toBe(0);
  expect((await svc("apply", "--force", "--await")).exitCode).toBe(0);
  const { stdout, stderr } = await svc("eval/trigger", "risk", "--await");
  expect(stdout, stderr).toMatch(/^Average score: 1$/m);
}, 300_000);

test("a misspelt venv is an error, one that nobody uses a warning, and an import of its package outside is explained", async () => {
  const text = await Bun.file(join(project, "features.py")).text();
  writeFileSync(
    join(project, "features.py"),
    text.replace('@online(venv="scoring")', '@online(venv="scorin")').replace('(venv="scoring")', ""),
  );
  writeFileSync(join(project, "evaluations.py"), "");
  const misspelt = await svc("lint", "--local");
  expect(misspelt.exitCode).toBe(1);
  expect(misspelt.stdout + misspelt.stderr).toContain(
    "Error[196]: the resolver 'features.risk' runs in venv 'scorin', which svc.yaml does not have for this environment: did you mean 'scoring'?",
  );
  expect(misspelt.stdout + misspelt.stderr).toContain(
    "Warning[196]: no resolver, function or evaluation runs in venv 'scoring', and so no hook",
  );
  writeFileSync(join(project, "requirements-scoring.txt"), "scoring==1.0\n");
  writeFileSync(join(project, "features.py"), `import scoring\n${text}`);
  const outside = await svc("lint", "--local");
  expect(outside.stdout + outside.stderr).toContain(
    "'scoring' is listed in requirements-scoring.txt, the requirements of a venv alone: import it inside of the functions with venv=",
  );
}, 300_000);
