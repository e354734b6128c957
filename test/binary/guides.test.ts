/** Guides of `docs/` as a reader follows them: every fenced block, as `test/harness/session.ts` says. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { lacksGo } from "../codegen/tools.ts";
import { goProgram, lacksGoProgram } from "../harness/go-programs.ts";
import { lacksProgram } from "../harness/needs.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { blocksOf, commandsOf, expectSaid, follow, isSession } from "../harness/session.ts";
import { SDK_ROOT } from "../sdk/interpreters.ts";

/** Those that begin with nothing, or start servers of their own; the others are read beside a server that runs. */
const ALONE = ["first-steps", "production"];
const BESIDE_A_SERVER = ["concepts", "caching", "point-in-time", "testing", "tasks", "coming-from-feast"];

/** Those with programs of others, in machines of their own that have them. */
const WITH_PROGRAMS: readonly (readonly [guide: string, isMissing: boolean, env: () => Record<string, string>])[] = [
  ["codegen", lacksGo() || lacksProgram("javac", "java"), () => ({ ...goEnvironment(), PYTHONPATH: SDK_ROOT })],
  ["grpc", lacksGoProgram("grpcurl") || lacksProgram("curl"), () => ({ PATH: `${dirname(goProgram("grpcurl"))}:${process.env.PATH}` })],
  ["shell", false, () => ({})],
];

/** What is compiled is kept beside what this machine's user has compiled. */
function goEnvironment(): Record<string, string> {
  const asked = Bun.spawnSync(["go", "env", "GOCACHE"]).stdout.toString().trim();
  return { GOCACHE: asked, GOTOOLCHAIN: "local", GOPROXY: "off", GOFLAGS: "-mod=mod" };
}

/** Why a block may be left out; each is the reason of some block. */
const NOT_RUN = [
  "Feast is another library",
  "is a job of another machine",
  "needs Arrow's library",
  "needs a release host",
  "needs another machine",
  "needs systemd",
];

/** Secrets, ids and times that are different each time, and the port for other machines. */
const CHANGING = [
  [/\b(client|st)_[0-9a-f]{32}\b/g, "$1_ID"],
  [/\bsvcs_[\w-]+/g, "SECRET"],
  [/(?<=^st_.* )20\d\d-\S+Z$/g, "TIME"],
  [/\blocalhost:\d+/g, "localhost:PORT"],
] as const;

const FIRST = "from svc.features import features\n\n\n@features\nclass First:\n    id: int\n    half: int = 0\n";

const blocks = (guide: string) => blocksOf(readFileSync(join(import.meta.dir, `../../docs/${guide}.md`), "utf8"));

/** Follows a guide, and expects what it says. */
async function expectTrue(guide: string, sandbox: Sandbox): Promise<void> {
  const told = blocks(guide).flatMap(commandsOf);
  expect(told.length).toBeGreaterThan(0);
  expectSaid(told, await follow(blocks(guide), sandbox), CHANGING);
}

test("every block is a session, a file, or left out for a reason that is listed", () => {
  const all = [...ALONE, ...BESIDE_A_SERVER, ...WITH_PROGRAMS.map(([guide]) => guide)].flatMap(blocks);
  const others = all.filter((block) => !isSession(block) && !/^\w+ file: [\w./-]+$/.test(block.info));
  const reasons = others.map(({ info }) => /^\w+ not run: (.+)$/.exec(info)?.[1] ?? info);
  expect([...new Set(reasons)].sort()).toEqual(NOT_RUN);
});

let server: Sandbox;
beforeAll(async () => {
  server = new Sandbox();
  await server.startServer();
  // The first project of a server is not told of as new: so each guide reads the same, whichever is first.
  const first = await server.write({ "first/svc.yaml": "project: first\nenvironments:\n  default: {}\n", "first/features.py": FIRST });
  expect(await server.svc(["apply", "--force", "--await"], { cwd: join(first, "first") })).toMatchObject({ exitCode: 0 });
}, 300_000);
afterAll(() => server?.[Symbol.asyncDispose]());

for (const guide of BESIDE_A_SERVER) test.skipIf(process.platform === "win32")(guide, () => expectTrue(guide, server), 300_000);

for (const [guide, isMissing, env] of WITH_PROGRAMS)
  test.skipIf(process.platform === "win32" || isMissing)(
    guide,
    async () => {
      await using sandbox = new Sandbox(env());
      try {
        await sandbox.startServer();
        await expectTrue(guide, sandbox);
      } finally {
        await sandbox.svc(["server", "stop"]);
      }
    },
    300_000,
  );

for (const guide of ALONE)
  test.skipIf(process.platform === "win32" || lacksProgram("openssl"))(
    guide,
    async () => {
      await using sandbox = new Sandbox();
      try {
        await expectTrue(guide, sandbox);
      } finally {
        await sandbox.svc(["server", "stop"]);
      }
    },
    300_000,
  );
