/**
 * Pipes, devices and huge files where svc expects a small text: said at once, with nothing read,
 * and a first signal ends.
 */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "../harness/sandbox.ts";

const POSIX = process.platform !== "win32";

let sandbox: Sandbox;
beforeAll(() => {
  sandbox = new Sandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const KINDS: Readonly<Record<string, { make(path: string): void; says: RegExp }>> = {
  "a named pipe": { make: (path) => void Bun.spawnSync(["mkfifo", path]), says: /it is a named pipe, not a file/ },
  "a link to /dev/zero": { make: (path) => symlinkSync("/dev/zero", path), says: /it is a device, not a file/ },
  "a file of a gigabyte": {
    make: (path) => {
      writeFileSync(path, "");
      truncateSync(path, 1024 ** 3);
    },
    says: /it is larger than 1[.\d]* MB/,
  },
};
const PROJECT = "project: p\nenvironments:\n  default:\n    requirements: requirements.txt\n";
const FILES = ["svc.yaml", "svc.yml", ".svcignore", ".gitignore", "requirements.txt", "included.txt"];

/** Runs a command to its end, or to one SIGTERM after a minute. */
async function run(words: readonly string[], cwd: string) {
  const child = Bun.spawn([sandbox.binary, ...words], {
    cwd,
    env: sandbox.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: 300_000,
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { text: stdout + stderr, exitCode };
}

describe.skipIf(!POSIX).each(Object.entries(KINDS))("%s", (kind, { make, says }) => {
  test.each(FILES)(
    "as %s",
    async (name) => {
      const dir = join(sandbox.work, `${kind}-${name}`.replaceAll(/[^\w.-]/g, "-"));
      mkdirSync(dir, { recursive: true });
      if (!name.startsWith("svc.")) writeFileSync(join(dir, "svc.yaml"), PROJECT);
      if (name === "included.txt") writeFileSync(join(dir, "requirements.txt"), "-r included.txt\n");
      make(join(dir, name));
      for (const words of name === "included.txt" ? [["lint", "--local"]] : [["files"], ["lint", "--local"]]) {
        const said = await run(words, dir);
        expect([words, said.exitCode]).toEqual([words, 1]);
        expect(said.text).toMatch(says);
        expect(said.text).toContain(name);
        expect(said.text).not.toMatch(/\n\s+at .*\(|fault in svc/);
      }
      rmSync(dir, { recursive: true });
    },
    300_000,
  );

  test("as the config file that --auth-config names", async () => {
    const path = join(sandbox.work, `config-${kind.replaceAll(/\W/g, "-")}.yml`);
    make(path);
    const said = await run(["config", "--auth-config", path], sandbox.work);
    expect([said.exitCode, said.text]).toEqual([1, expect.stringContaining(path)]);
    expect(said.text).toMatch(kind === "a file of a gigabyte" ? /it is larger than/ : says);
    rmSync(path);
  });
});

test.skipIf(!POSIX)("a link to a plain file is read, and a folder of the name is passed over", async () => {
  const dir = await sandbox.write({ "real.yaml": "project: linked\n" }, "linked-config");
  symlinkSync("real.yaml", join(dir, "svc.yaml"));
  expect(await sandbox.json<{ name: string }>(["project"], { cwd: dir })).toMatchObject({ name: "linked" });
  mkdirSync(join(dir, "below", "svc.yaml"), { recursive: true });
  expect(await sandbox.json<{ name: string }>(["project"], { cwd: join(dir, "below") })).toMatchObject({ name: "linked" });
});
