/** Projects that another user of the machine has put where svc looks for them. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, chownSync, existsSync, lchownSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { lacksProgram, lacksRoot } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";

const OTHER = 65534;
const THIRD = 65533;
const isAbsent = lacksRoot() || lacksProgram("setpriv");

let sandbox: Sandbox;
let marker = "";
beforeAll(() => {
  sandbox = new Sandbox();
  marker = join(sandbox.root, "imported");
  chmodSync(sandbox.root, 0o777);
});
afterAll(() => sandbox[Symbol.asyncDispose]());

/** A folder whose project says when it is imported, and a folder below it. */
async function plant(name: string): Promise<{ folder: string; below: string }> {
  rmSync(marker, { force: true });
  const python = `from svc.features import features\nopen(${JSON.stringify(marker)}, "a").write("x")\n@features\nclass User:\n    id: int\n`;
  const folder = await sandbox.write({ "svc.yaml": "project: planted\n", "planted.py": python }, name);
  const below = join(folder, "victim", "work");
  mkdirSync(below, { recursive: true });
  return { folder, below };
}

const COMMANDS: readonly string[][] = [["lint", "--local"], ["lint"], ["files"], ["apply", "--force"], ["project"], ["project", "--edit"]];

test.skipIf(isAbsent)(
  "a project file of another user in a folder above is not used",
  async () => {
    const { folder, below } = await plant("above");
    const file = join(folder, "svc.yaml");
    chownSync(file, OTHER, OTHER);
    for (const words of COMMANDS) {
      const said = await sandbox.svc(words, { cwd: below, env: { EDITOR: `touch ${marker}` } });
      expect([words, said.exitCode, said.stdout]).toEqual([words, 1, ""]);
      expect(said.stderr).toMatch(new RegExp(`The project file ${file} belongs to (the user \\S+ \\(65534\\)|another user \\(65534\\))`));
      expect(said.stderr).toContain(`export SVC_TRUSTED_PROJECTS=${folder}`);
      expect(existsSync(marker)).toBe(false);
    }
    const asData = await sandbox.svc(["files", "--json"], { cwd: below });
    expect(JSON.parse(asData.stderr)).toMatchObject({ error: { code: "untrusted_project", details: { file, owner: OTHER } } });
    for (const trusted of ["/elsewhere", below, `${folder}x`])
      expect((await sandbox.svc(["lint", "--local"], { cwd: below, env: { SVC_TRUSTED_PROJECTS: trusted } })).exitCode).toBe(1);
    expect(existsSync(marker)).toBe(false);
    for (const trusted of ["*", folder, `/elsewhere:${folder}/`])
      expect((await sandbox.svc(["files"], { cwd: below, env: { SVC_TRUSTED_PROJECTS: trusted } })).stdout).toBe("planted.py\nsvc.yaml\n");
    expect((await sandbox.svc(["lint", "--local"], { cwd: below, env: { SVC_TRUSTED_PROJECTS: folder } })).exitCode).toBe(0);
    expect(existsSync(marker)).toBe(true);
  },
  300_000,
);

test.skipIf(isAbsent)("a language server in it imports nothing, and says why", async () => {
  const { folder, below } = await plant("edited");
  chownSync(join(folder, "svc.yaml"), OTHER, OTHER);
  const messages = [
    { jsonrpc: "2.0", id: 1, method: "initialize", params: { rootUri: `file://${below}`, capabilities: {} } },
    { jsonrpc: "2.0", method: "initialized", params: {} },
    { jsonrpc: "2.0", id: 2, method: "shutdown" },
    { jsonrpc: "2.0", method: "exit" },
  ].map((message) => JSON.stringify(message));
  const input = messages.map((text) => `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`).join("");
  const said = await sandbox.svc(["lsp"], { cwd: below, input });
  expect(said.stdout).toContain("so the project is not used");
  expect(existsSync(marker)).toBe(false);
});

test.skipIf(isAbsent)(
  "nor one in a folder of another user, nor a link that another user made, or that leads to his file",
  async () => {
    const owned = await plant("owned");
    chownSync(owned.folder, OTHER, OTHER);
    expect((await sandbox.svc(["lint", "--local"], { cwd: owned.below })).stderr).toContain(
      `The folder of the project file ${owned.folder}/svc.yaml belongs to`,
    );

    const linked = await plant("linked");
    rmSync(join(linked.folder, "svc.yaml"));
    symlinkSync(join(owned.folder, "svc.yaml"), join(linked.folder, "svc.yaml"));
    expect((await sandbox.svc(["lint", "--local"], { cwd: linked.below, env: {} })).exitCode).toBe(0);
    expect(existsSync(marker)).toBe(true);
    rmSync(marker);
    lchownSync(join(linked.folder, "svc.yaml"), OTHER, OTHER);
    expect((await sandbox.svc(["lint", "--local"], { cwd: linked.below })).stderr).toContain("belongs to");
    lchownSync(join(linked.folder, "svc.yaml"), 0, 0);
    chownSync(join(owned.folder, "svc.yaml"), OTHER, OTHER);
    expect((await sandbox.svc(["lint", "--local"], { cwd: linked.below })).stderr).toContain("belongs to");
    expect(existsSync(marker)).toBe(false);
  },
  300_000,
);

test.skipIf(isAbsent)("root's own, one's own, and with sudo those of who called it, are used", async () => {
  const { folder, below } = await plant("shared");
  const as = (uid: number, env: Record<string, string> = {}) =>
    Bun.spawnSync(["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", sandbox.binary, "files"], {
      cwd: below,
      env: { ...sandbox.env, HOME: "/nonexistent", ...env },
    });
  const works = (said: { exitCode: number; stdout: Buffer }) => [said.exitCode, said.stdout.toString()];
  expect(works(as(OTHER))).toEqual([0, "planted.py\nsvc.yaml\n"]);
  for (const path of [folder, join(folder, "svc.yaml")]) chownSync(path, OTHER, OTHER);
  expect(works(as(OTHER))).toEqual([0, "planted.py\nsvc.yaml\n"]);
  expect(works(as(THIRD))).toEqual([1, ""]);
  expect(works(as(THIRD, { SUDO_UID: String(OTHER) }))).toEqual([1, ""]);
  expect(works(as(0))).toEqual([1, ""]);
  expect(works(as(0, { SUDO_UID: String(OTHER) }))).toEqual([0, "planted.py\nsvc.yaml\n"]);
  expect(works(as(0, { SUDO_UID: `${OTHER}x` }))).toEqual([1, ""]);
});
