/** `check_expression` against a real server, where nothing is deployed. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { TempFolder, TestServer } from "../harness/running-server.ts";
import { patience, runs, seed } from "../harness/seed.ts";
import { INTERPRETERS, SDK_ROOT } from "./interpreters.ts";

let folder: TempFolder;
let server: TestServer;
beforeAll(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test.each(INTERPRETERS.map(({ version, path }) => [version, path] as const))(
  "check_expression on Python %s computes what Python computes",
  async (_, path) => {
    const child = Bun.spawn(
      [path, "-B", "-X", "utf8", "-W", "error", "-m", "unittest", "discover", "-s", join(import.meta.dir, "expressions")],
      {
        env: {
          PATH: process.env.PATH ?? "",
          HOME: folder.path,
          PYTHONPATH: SDK_ROOT,
          SVC_API_SERVER: server.url,
          SVC_CLIENT_ID: server.credentials.clientId,
          SVC_CLIENT_SECRET: server.credentials.clientSecret,
          TEST_SEED: String(seed),
          TEST_EXPRESSIONS: String(runs(80, 2_000)),
        },
        stderr: "pipe",
      },
    );
    const [stderr, exitCode] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    expect(exitCode, stderr).toBe(0);
    expect(stderr).toMatch(/^Ran 9 tests/m);
  },
  patience(600_000),
);
