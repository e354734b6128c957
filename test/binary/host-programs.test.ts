/** Programs of the server's own machine, by the commands of the built binary. */

import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";

const TEST_MS = 300_000;
const NO_ENGINE = { SVC_CONTAINER_ENGINE: "off" };

interface Container {
  readonly status: string;
  readonly exit_code?: number;
  readonly unisolated: boolean;
  readonly url: string;
  readonly message: string;
}

describe.skipIf(process.platform !== "linux")("a server", () => {
  test(
    "runs programs of its machine only where that is allowed, and says that nothing isolates them",
    async () => {
      await using sandbox = new Sandbox();
      await sandbox.startServer(NO_ENGINE);
      const words = ["container", "run", "--name", "one", "--image", "host:", "--", "/bin/sh", "-c", "echo hello; sleep 600"];
      const refused = await sandbox.svc(words);
      expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("its operator has not allowed it")]);
      expect(refused.stderr).toContain("SVC_HOST_PROGRAMS=on");
      expect((await sandbox.svc(["container", "list"])).stdout).not.toContain("one");
      await sandbox.svc(["server", "stop"]);

      await sandbox.startServer({ ...NO_ENGINE, SVC_HOST_PROGRAMS: "on" });
      const run = await sandbox.svc(words);
      expect([run.exitCode, run.stderr]).toEqual([0, expect.stringContaining("runs on the server's machine without isolation")]);
      const get = () => sandbox.json<Container>(["container", "get", "--name", "one"]);
      expect(await get()).toMatchObject({ status: "running", unisolated: true });
      const box = await sandbox.svc(["sandbox", "create", "--image", "host:"]);
      expect([box.exitCode, box.stderr]).toEqual([1, expect.stringContaining("it is no sandbox")]);

      // It goes on without the server, where it is not allowed any more too, and its output with it.
      await sandbox.killServer();
      await sandbox.startServer(NO_ENGINE);
      expect(await get()).toMatchObject({ status: "running" });
      const printed = async () => (await sandbox.svc(["logs", "--query", "pod:one"])).stdout.split("hello").length - 1;
      await eventually(async () => (await printed()) === 1, "its line");
      expect((await sandbox.svc(["container", "stop", "--name", "one", "--yes"])).exitCode).toBe(0);
      expect(await get()).toMatchObject({ status: "stopped", exit_code: 143 });
    },
    TEST_MS,
  );

  test.skipIf(lacksProgram("busybox"))(
    "gives each replica of a group a port of its own, and leads requests to them",
    async () => {
      await using sandbox = new Sandbox();
      await sandbox.startServer({ ...NO_ENGINE, SVC_HOST_PROGRAMS: "on" });
      const site = join(sandbox.work, "site");
      mkdirSync(site);
      writeFileSync(join(site, "index.html"), "served\n");
      const words = ["--image", `host:${site}`, "--port", "8080", "--min-replicas", "2", "--max-replicas", "2"];
      const made = await sandbox.svc([
        "scaling-group",
        "create",
        "--name",
        "site",
        ...words,
        "--entrypoint",
        "sh,-c,exec busybox httpd -f -p $PORT",
      ]);
      expect([made.exitCode, made.stderr]).toEqual([0, expect.stringContaining("without isolation")]);
      const get = () =>
        sandbox.json<{ ready_replicas: number; url: string; unisolated: boolean }>(["scaling-group", "get", "--name", "site"]);
      await eventually(async () => (await get()).ready_replicas === 2, "both replicas");
      const { unisolated, url } = await get();
      const answers = await Promise.all([1, 2, 3, 4].map(async () => (await fetch(`${url}index.html`)).text()));
      expect([unisolated, answers]).toEqual([true, Array.from({ length: 4 }, () => "served\n")]);
      const limited = await sandbox.svc([
        "scaling-group",
        "create",
        "--name",
        "other",
        ...words,
        "--memory",
        "64Mi",
        "--entrypoint",
        "true",
      ]);
      expect([limited.exitCode, limited.stderr]).toEqual([1, expect.stringContaining("No limit of processors or memory is kept")]);
      expect((await sandbox.svc(["scaling-group", "delete", "--name", "site", "--yes"])).exitCode).toBe(0);
    },
    TEST_MS,
  );
});
