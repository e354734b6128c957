/** A load test of the compiled binary, ended by Ctrl-C. */

import { expect, test } from "bun:test";
import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { lacksPodman, startPodman } from "../harness/podman.ts";
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

test.skipIf(lacksPodman())(
  "where there is an engine, a benchmark with limits runs in a container that keeps them",
  async () => {
    await using podman = await startPodman();
    await using sandbox = new Sandbox();
    await sandbox.startServer({ SVC_CONTAINER_ENGINE: podman.address });
    const held = join(sandbox.root, "held");
    const project = await sandbox.write(
      projectThat(`import os, time\n    while os.path.exists(${JSON.stringify(held)}): time.sleep(0.02)`),
    );
    await sandbox.json(["apply", "--force", "--await"], { cwd: project });
    const run = (...words: string[]) => {
      const load = ["--in", "user.id=1", "--out", "user.score", "--qps", "20", "--duration", "2s", "--warmup-duration", "0s"];
      return sandbox.svc(["benchmark", "run", ...load, ...words, "--watch", "--yes", "--json"], { cwd: project });
    };
    await Bun.write(held, "");
    const limited = run("--cpu-limit", "500m", "--memory-limit", "300Mi");
    await eventually(() => podman.containers().length === 1, "the container of the load generator");
    const [name = ""] = podman.containers();
    expect(name).toMatch(/^svc-load-bench_/);
    const [{ HostConfig }] = JSON.parse(podman.podman("inspect", name)) as [{ HostConfig: { NanoCpus: number; Memory: number } }];
    expect([HostConfig.NanoCpus, HostConfig.Memory]).toEqual([500_000_000, 300 * 1024 * 1024]);
    rmSync(held);
    const { exitCode, stdout, stderr } = await limited;
    expect([exitCode, stderr.includes("recorded")]).toEqual([0, false]);
    expect(JSON.parse(stdout)).toMatchObject({ state: "succeeded", warnings: [], result: { answered: 40, unsent: 0 } });
    expect(podman.containers()).toEqual([]);

    // What goes wrong in it is said as by a process, and leaves nothing behind.
    const refused = await run("--cpu-limit", "500m", "--query-host", "https://127.0.0.1:9");
    expect(refused.exitCode).not.toBe(0);
    await podman.stopService();
    const absent = await run("--cpu-limit", "500m");
    expect([absent.exitCode === 0, absent.stderr]).toEqual([false, expect.stringContaining("the load generator has no container")]);
    await podman.startService();
    expect(podman.containers()).toEqual([]);
  },
  600_000,
);
