/** Commands that change something, whose output nobody reads to its end: `svc apply | head -1`. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { Sandbox } from "../harness/sandbox.ts";

const FILES = {
  "svc.yaml": "project: unread\nenvironments:\n  default: {}\n",
  "features.py": "from svc.features import features\n\n\n@features\nclass Bed:\n    id: int\n    litres: int = 2\n",
  "work.py": "def lines():\n    for n in range(3):\n        print(n)\n\n\ndef fails():\n    print(0)\n    raise ValueError('not today')\n",
};

let sandbox: Sandbox;
let project: string;
beforeAll(async () => {
  sandbox = new Sandbox();
  await sandbox.startServer();
  project = await sandbox.write(FILES);
}, 300_000);
afterAll(() => sandbox?.[Symbol.asyncDispose]());

/** Runs a command whose reader is gone before it writes. */
async function unread(...words: readonly string[]): Promise<{ exitCode: number; stderr: string }> {
  const script = 'exec 3> >(true); wait $!; exec 1>&3 3>&-; exec "$@"';
  const { exitCode, stderr } = await sandbox.svc(words, { cwd: project, timeoutMs: 60_000, wrapper: ["bash", "-c", script, "bash"] });
  return { exitCode, stderr };
}

test.skipIf(process.platform === "win32")("svc apply deploys, and ends as the deployment does", async () => {
  expect(await unread("apply", "--force", "--await")).toMatchObject({ exitCode: 0 });
  const asked = await sandbox.svc(["query", "--in", "bed.id=1", "--out", "bed.litres"], { cwd: project });
  expect([asked.exitCode, asked.stdout]).toEqual([0, expect.stringContaining("2")]);
  await Bun.write(`${project}/features.py`, `${FILES["features.py"]}\n\nraise RuntimeError("when it is imported")\n`);
  const failed = await unread("apply", "--force", "--await");
  expect([failed.exitCode, failed.stderr]).toEqual([1, expect.stringContaining("when it is imported")]);
  await Bun.write(`${project}/features.py`, FILES["features.py"]);
});

test.skipIf(process.platform === "win32")("svc apply --watch stops behind a deployment", async () => {
  expect(await unread("apply", "--force", "--watch", "--branch", "try")).toMatchObject({ exitCode: 0 });
  const asked = await sandbox.svc(["query", "--in", "bed.id=1", "--out", "bed.litres", "--branch", "try"], { cwd: project });
  expect(asked.exitCode).toBe(0);
});

test.skipIf(process.platform === "win32")("svc task run --watch ends as the task does", async () => {
  expect(await unread("task", "run", "work.py::lines", "--watch")).toMatchObject({ exitCode: 0 });
  const failed = await unread("task", "run", "work.py::fails", "--watch");
  expect([failed.exitCode, failed.stderr]).toEqual([1, expect.stringContaining("ValueError: not today (work.py:8)")]);
});

test.skipIf(process.platform === "win32")("svc stubgen --watch stops", async () => {
  expect(await unread("stubgen", "--watch")).toEqual({ exitCode: 0, stderr: "" });
});
