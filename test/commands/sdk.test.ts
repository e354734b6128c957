/** What `docs/clients.md` shows, followed from its first block to its last. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { tempFolder } from "../client/test-context.ts";
import { followPage } from "../harness/docs-page.ts";
import { lacks, lacksProgram } from "../harness/needs.ts";
import { INTERPRETERS, SDK_ROOT } from "../sdk/interpreters.ts";
import { type Platform, runCommand, startPlatform } from "./platform.ts";

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform.server.stop());

const withPyarrow = INTERPRETERS.find(({ path }) => Bun.spawnSync([path, "-c", "import pyarrow"], { stderr: "ignore" }).success);

test.skipIf(lacksProgram("node", "npm") || lacks("pyarrow", withPyarrow !== undefined))(
  "the page on clients",
  async () => {
    const folder = tempFolder("svc-clients-page-");
    const env = { ...platform.env, PATH: process.env.PATH ?? "", HOME: platform.home, PYTHONPATH: SDK_ROOT, PYTHONDONTWRITEBYTECODE: "1" };
    await followPage(
      "clients.md",
      folder,
      async ({ line, words }) => {
        const path = words[0] === "sdk" ? words.slice(0, 2).join("/") : (words[0] ?? "");
        const outcome = await runCommand(path, words.slice(path.split("/").length), {
          home: platform.home,
          env: platform.env,
          dir: folder,
        });
        expect([line, outcome.exitCode, outcome.stderr]).toEqual([line, 0, expect.any(String)]);
      },
      async (line, said) => {
        const shell = ["sh", "-c", line.replace(/^python3/, withPyarrow?.path ?? "python3")];
        const child = Bun.spawn(shell, { cwd: folder, env, stdout: "pipe", stderr: "pipe" });
        const [stdout, stderr, exitCode] = await Promise.all([
          new Response(child.stdout).text(),
          new Response(child.stderr).text(),
          child.exited,
        ]);
        expect([line, exitCode], stderr).toEqual([line, 0]);
        if (said !== "...\n") expect(stdout).toBe(said);
      },
    );
  },
  600_000,
);
