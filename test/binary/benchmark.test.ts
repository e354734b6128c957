/** A load test of the compiled binary, ended by Ctrl-C. */

import { expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { Sandbox } from "../harness/sandbox.ts";

/** A project whose resolver does something before it answers. */
const projectThat = (statement: string) => ({
  "svc.yaml": "project: load\n",
  "features.py": `from svc import online
from svc.features import features


@features
class User:
    id: int
    score: float


@online
def score(id: User.id) -> User.score:
    ${statement}
    return id / 2
`,
});

test("an interrupted load test reports what it measured", async () => {
  await using sandbox = new Sandbox();
  await sandbox.startServer();
  const asked = join(sandbox.root, "asked");
  const project = await sandbox.write(projectThat(`print(id, file=open(${JSON.stringify(asked)}, "a"))`));
  await sandbox.json(["apply", "--force", "--await"], { cwd: project });
  const words = [
    "query",
    "--in",
    "user.id=1",
    "--out",
    "user.score",
    "--benchmark",
    "--qps",
    "50",
    "--duration",
    "1h",
    "--warmup-duration",
    "0s",
  ];
  const child = Bun.spawn([sandbox.binary, ...words], { cwd: project, env: sandbox.env, stdout: "pipe", stderr: "pipe" });
  const stderr = child.stderr.getReader();
  expect(new TextDecoder().decode((await stderr.read()).value)).toBe("Asking 50 queries a second for 1h\n");
  await eventually(() => existsSync(asked) && statSync(asked).size > 20, "some queries");
  child.kill("SIGINT");
  const stdout = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  expect(stdout).toMatch(/^\d+ of \d+ queries answered in .* of 50 asked for, stopped early\nnone failed\n/);
  expect(stdout).toMatch(/^p99\.9 +\d+\.\d\d$/m);
}, 300_000);
