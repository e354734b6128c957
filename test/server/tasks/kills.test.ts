/** Tasks and a server that is killed: no process of theirs stays, and the attempts are counted. */

import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { TaskService, TaskState } from "../../../gen/svc/v1/task_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { isAlive } from "../../harness/is-alive.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { clientOf, spawnServer } from "../../harness/spawned-server.ts";
import { deploy, expectLive, GREETING } from "../deployments/deploying.ts";

const PROJECT = {
  ...GREETING,
  "work.py": `import os, subprocess, sys, time

def first_hangs(path: str):
    with open(path, "a") as pids:
        pids.write(f"{os.getpid()}\\n")
    with open(path) as pids:
        attempts = len(pids.readlines())
    if attempts == 1:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open(path + ".child", "w") as stream:
            stream.write(f"{child.pid}\\n")
        time.sleep(600)
    return attempts
`,
};

test.each([
  [0, { state: TaskState.FAILED, attempts: 1 }],
  [1, { state: TaskState.SUCCEEDED, attempts: 2, resultJson: "2" }],
])(
  "with %d retries a task whose server was killed ends as it should, and nothing that it started runs on",
  async (maxRetries, outcome) => {
    using folder = new TempFolder();
    const first = await TestServer.start(folder.path);
    expectLive(await deploy(first, PROJECT));
    const token = await first.token();
    const { credentials } = first;
    await first[Symbol.asyncDispose]();
    const path = join(folder.path, "pids");
    let id = "";
    let pids: number[] = [];
    {
      await using server = await spawnServer(folder.path, credentials);
      const { ids } = await clientOf(TaskService, server, token).runTasks({
        target: { code: { case: "path", value: "work.py" }, callable: "first_hangs" },
        arguments: [{ argsJson: JSON.stringify([path]) }],
        maxRetries,
      });
      id = ids[0] as string;
      await eventually(() => existsSync(`${path}.child`) && readFileSync(`${path}.child`, "utf8").endsWith("\n"), "a task that runs");
      pids = [path, `${path}.child`].map((file) => Number(readFileSync(file, "utf8")));
      expect(pids.every(isAlive)).toBe(true);
      await server.kill();
    }
    await eventually(() => !pids.some(isAlive), "the end of what the task started");
    await using server = await spawnServer(folder.path, credentials);
    const service = clientOf(TaskService, server, token);
    await eventually(async () => (await service.getTask({ id })).task?.endedAt !== undefined, "the end of the task");
    const { task } = await service.getTask({ id });
    expect(task).toMatchObject(outcome);
    if (maxRetries === 0) expect(task?.error).not.toBe("");
    expect(readFileSync(path, "utf8").trim().split("\n")).toHaveLength(maxRetries + 1);
  },
  300_000,
);
