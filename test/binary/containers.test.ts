/** Commands of containers, sandboxes and volumes of the built binary, on a real Podman. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { followPage } from "../harness/docs-page.ts";
import { eventually } from "../harness/eventually.ts";
import { BUSYBOX, lacksPodman, startPodman, type TestPodman } from "../harness/podman.ts";
import { importPython, lacksPythonImage, PYTHON } from "../harness/python-image.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { Terminal, workInShell } from "../harness/terminal.ts";

const TEST_MS = 300_000;

describe.skipIf(lacksPodman() || lacksPythonImage())("with an engine", () => {
  let podman: TestPodman;
  let sandbox: Sandbox;
  beforeAll(async () => {
    podman = await startPodman();
    podman.podman("tag", BUSYBOX, "docker.io/library/busybox:latest");
    importPython(podman);
    podman.podman("tag", PYTHON, "docker.io/library/python:3.12-slim");
    sandbox = new Sandbox();
    await sandbox.startServer({ SVC_CONTAINER_ENGINE: podman.address });
  }, TEST_MS);
  afterAll(async () => {
    await sandbox?.[Symbol.asyncDispose]();
    await podman?.[Symbol.asyncDispose]();
  }, TEST_MS);

  interface Container {
    readonly id: string;
    readonly status: string;
    readonly exit_code?: number;
  }
  const get = (name: string) => sandbox.json<Container>(["container", "get", "--name", name]);

  test(
    "the guide is true",
    async () => {
      await followPage("containers.md", sandbox.work, async ({ line, words, said }) => {
        if (line.startsWith("container get") || line.startsWith("logs"))
          await eventually(async () => (await get("greet")).exit_code === 0, "its end");
        if (line.startsWith("logs")) await eventually(async () => (await sandbox.svc(words)).stdout.includes("hello world"), "its line");
        const { exitCode, stdout, stderr } = await sandbox.svc(words);
        // These tell there of what they do.
        const isTold = /^(?:apply|environment update|task run) /.test(line);
        expect([line, exitCode, isTold ? "" : stderr]).toEqual([line, 0, ""]);
        const pattern = said
          .split("...")
          .map((part) => part.replace(/[$()*+?.\\^|[\]{}]/g, "\\$&"))
          .join("[\\s\\S]*");
        expect(stdout).toMatch(new RegExp(`^${pattern}$`));
      });
      await eventually(() => !podman.containers().some((name) => name.startsWith("svc-process-")), "the end of workers in containers");
    },
    TEST_MS,
  );

  test(
    "files are copied into a sandbox and out of it, and a hostile one leads nowhere else",
    async () => {
      const { id } = await sandbox.json<{ id: string }>(["sandbox", "create", "--image", BUSYBOX, "--name", "files"]);
      const project = join(sandbox.work, "tree");
      mkdirSync(join(project, "sub"), { recursive: true });
      writeFileSync(join(project, "sub", "big"), Buffer.alloc(3_000_000, "0123456789"));
      writeFileSync(join(project, "small"), "small\n");
      const copy = async (...words: string[]) => sandbox.svc(["sandbox", "copy", ...words]);
      const exec = async (script: string) => (await sandbox.svc(["sandbox", "exec", "files", "--", "busybox", "sh", "-c", script])).stdout;

      const into = await copy(project, "files:/tmp");
      expect([into.exitCode, into.stdout]).toEqual([0, "Copied 2 files, 3.0 MB\n"]);
      expect((await copy(join(project, "small"), `${id}:/made/for/it`)).exitCode).toBe(0);
      expect(await exec("find /tmp/tree -type f | sort; cat /made/for/it; wc -c < /tmp/tree/sub/big")).toBe(
        "/tmp/tree/small\n/tmp/tree/sub/big\nsmall\n3000000\n",
      );
      const out = join(sandbox.work, "out");
      expect(await sandbox.json<object>(["sandbox", "copy", "files:/tmp/tree", out])).toEqual({ files: 2, bytes: 3_000_006, left_out: 0 });
      expect(readFileSync(join(out, "sub", "big")).equals(readFileSync(join(project, "sub", "big")))).toBe(true);
      const again = await copy("files:/tmp/tree", sandbox.work);
      expect([again.exitCode, again.stderr]).toEqual([1, expect.stringContaining("there is a folder at")]);
      const none = await copy("files:/tmp/none", join(sandbox.work, "none"));
      expect([none.exitCode, none.stderr]).toEqual([1, expect.stringContaining("none")]);
      expect(existsSync(join(sandbox.work, "none"))).toBe(false);

      const piped = Bun.spawn([sandbox.binary, "sandbox", "copy", "files:/tmp/tree", "-"], {
        env: sandbox.env,
        cwd: sandbox.work,
        stdout: "pipe",
      });
      const archive = new Uint8Array(await new Response(piped.stdout).arrayBuffer());
      expect(Bun.spawnSync(["tar", "-tf", "-"], { stdin: archive }).stdout.toString()).toContain("tree/sub/big");
      const back = Bun.spawn([sandbox.binary, "sandbox", "copy", "-", "files:/back"], {
        env: sandbox.env,
        cwd: sandbox.work,
        stdin: archive,
      });
      expect([await back.exited, await exec("cat /back/tree/small")]).toEqual([0, "small\n"]);

      await exec("cd /tmp/tree && ln -s /etc/passwd link && ln small hard");
      const linked = await copy("files:/tmp/tree", join(sandbox.work, "linked"));
      expect([linked.exitCode, linked.stderr]).toEqual([0, expect.stringContaining("links and devices were left out")]);
      expect(readdirSync(join(sandbox.work, "linked")).includes("link")).toBe(false);
      await exec(
        "cd /tmp && mkdir -p evil/x && echo bad > evil/x/passwd && tar -cf /evil.tar evil/x/passwd && sed -i s,evil/x/passwd,evil/../pas,g /evil.tar",
      );
      // The shell of the image is the sandbox's own, and so is what it says.
      const shell = (said: string) => exec(`rm /bin/sh; printf '#!/bin/busybox sh\\n${said}\\n' > /bin/sh; chmod +x /bin/sh`);
      await shell("cat /evil.tar");
      const evil = await copy("files:/tmp/evil", join(sandbox.work, "evil"));
      expect([evil.exitCode, evil.stderr]).toEqual([1, expect.stringContaining("what the sandbox sent is refused")]);
      expect(readdirSync(sandbox.work).filter((name) => /evil|partial|pas/.test(name))).toEqual([]);
      await shell("exit 127");
      const untarred = await copy(project, "files:/tmp/other");
      expect([untarred.exitCode, untarred.stderr]).toEqual([1, expect.stringContaining("The image has no tar")]);
      expect((await sandbox.svc(["sandbox", "terminate", "--name", "files", "--yes"])).exitCode).toBe(0);
    },
    TEST_MS,
  );

  test(
    "a shell is opened in a container, a sandbox and a replica, by the names of their pods",
    async () => {
      const pods = async () => (await sandbox.json<{ pods: { name: string; kind: string; status: string }[] }>(["pods"])).pods;
      const many = ["--image", BUSYBOX, "--entrypoint", "httpd,-f,-p,8080", "--port", "8080", "--min-replicas", "1"];
      for (const words of [
        ["container", "run", "--name", "alone", "--image", BUSYBOX, "--", "sleep", "600"],
        ["sandbox", "create", "--name", "boxed", "--image", BUSYBOX],
        ["scaling-group", "create", "--name", "many", ...many],
      ])
        expect([words, (await sandbox.svc(words)).exitCode]).toEqual([words, 0]);
      const running = async (kind: string) => (await pods()).filter((pod) => pod.kind === kind && pod.status === "Running");
      await eventually(async () => (await running("container")).length === 2, "the replica");
      const names = [...(await running("container")), ...(await running("sandbox"))].map(({ name }) => name);
      expect(names).toHaveLength(3);
      for (const pod of names) {
        const shell = await sandbox.svc(["shell", "--pod", pod, "--command", "cat; echo wrong >&2; exit 3"], { input: "typed" });
        expect([pod, shell.stdout, shell.stderr, shell.exitCode]).toEqual([pod, "typed", "wrong\n", 3]);
      }
      const [first = ""] = names;
      const terminal = Terminal.start(sandbox, ["shell", "--pod", first], { columns: 91, rows: 33 });
      const { exitCode, before, after } = await workInShell(terminal);
      expect([exitCode, after]).toEqual([5, before]);
      const none = await sandbox.svc(["shell", "--pod", `${first}x`]);
      expect([none.exitCode, none.stderr]).toEqual([1, expect.stringContaining(`Did you mean '${first}'?`)]);
      for (const words of [
        ["scaling-group", "delete", "--name", "many", "--yes"],
        ["container", "stop", "--name", "alone", "--yes"],
        ["sandbox", "terminate", "--name", "boxed", "--yes"],
      ])
        expect([words, (await sandbox.svc(words)).exitCode]).toEqual([words, 0]);
    },
    TEST_MS,
  );

  test(
    "variables come from a file and from flags, which win; a container is awaited",
    async () => {
      const file = join(sandbox.work, "job.env");
      writeFileSync(file, "# of the job\nA=file\nB=x=y\n");
      const words = [
        "container",
        "run",
        "--image",
        BUSYBOX,
        "--name",
        "vars",
        "--env-file",
        file,
        "--env",
        "A=flag",
        "--tags",
        "team=risk,tier=2",
        "--await-running",
      ];
      const { exitCode, stderr } = await sandbox.svc([...words, "--", "sh", "-c", '[ "$A-$B" = flag-x=y ]']);
      expect([exitCode, stderr]).toEqual([0, ""]);
      await eventually(async () => (await get("vars")).exit_code === 0, "its end");
      writeFileSync(file, "nothing\n");
      const wrong = await sandbox.svc(words);
      expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining(`line 1 of ${file} is no KEY=VALUE`)]);
    },
    TEST_MS,
  );

  test.each<[readonly string[], number, string]>([
    [["container", "run", "--image", BUSYBOX, "--volume", "data"], 2, "'data' is no volume: expected <name>:/path"],
    [["container", "run", "--image", BUSYBOX, "--port", "70000"], 2, "--port is from 1 to 65535"],
    [["container", "run", "--image", BUSYBOX, "--grpc"], 2, "--grpc, --private and --authenticated need --port"],
    [["container", "run", "--image", BUSYBOX, "--await-timeout", "5s"], 2, "--await-timeout needs --await-running"],
    [["container", "run", "--image", BUSYBOX, "--route", "10.0.0.0/8"], 1, "has no network that filters"],
    [["container", "run", "--image", BUSYBOX, "--enable-ssh"], 1, "opens no SSH"],
    [["container", "run", "--image", "localhost/none:1"], 1, "There is no image 'localhost/none:1'"],
    [["container", "get"], 2, "one of --id and --name is required"],
    [["container", "get", "--id", "x", "--name", "y"], 2, "--id and --name do not go together"],
    [["container", "stop", "--name", "none", "--yes"], 1, "There is no container 'none'."],
    [["sandbox", "create", "--image", BUSYBOX, "--timeout", "5"], 2, "need --exec"],
    [["sandbox", "exec", "none"], 2, "there is no command; it follows --"],
    [["sandbox", "exec", "--", "ls"], 2, "name one sandbox"],
    [["sandbox", "exec", "none", "--", "ls"], 1, "There is no sandbox 'none'."],
    [["sandbox", "exec", "-it", "none", "--", "ls"], 2, "--tty needs a terminal"],
    [["volume", "create", "--name", "../x"], 1, 'The name of a volume cannot be "../x".'],
  ])(
    "what cannot be is refused: %j",
    async (words, code, said) => {
      const { exitCode, stderr } = await sandbox.svc(words);
      expect([exitCode, stderr]).toEqual([code, expect.stringContaining(said)]);
      expect(podman.containers()).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "a command in a sandbox has the streams of this one: pipes, megabytes, exit codes, a terminal",
    async () => {
      const made = await sandbox.svc([
        "sandbox",
        "create",
        "--image",
        BUSYBOX,
        "--name",
        "try",
        "--env",
        "A=1,2,B=3",
        "--exec",
        "sh",
        "--",
        "-c",
        "echo $A-$B; exit 4",
      ]);
      expect([made.exitCode, made.stdout]).toEqual([4, "1,2-3\n"]);
      const input = "0123456789abcdef".repeat(65_536);
      const through = await sandbox.svc(["sandbox", "exec", "try", "--", "cat"], { input });
      expect([through.exitCode, through.stdout === input]).toEqual([0, true]);
      expect((await sandbox.svc(["sandbox", "exec", "try", "--timeout", "1", "--", "sleep", "600"])).exitCode).toBe(124);
      const terminal = Terminal.start(sandbox, ["sandbox", "exec", "-it", "try", "--", "sh"], { columns: 91, rows: 33 });
      const { exitCode, before, after } = await workInShell(terminal);
      expect([exitCode, after]).toEqual([5, before]);
      await sandbox.svc(["sandbox", "terminate", "--name", "try", "--yes"]);
      expect(podman.containers()).toEqual([]);
    },
    TEST_MS,
  );
});
