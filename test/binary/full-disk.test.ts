/**
 * The binary with its data on a disk that is full: it stays up and answers, refuses what it cannot
 * keep in words, and is whole again when there is room.
 */

import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { lacksSmallDisk, SmallDisk } from "../harness/small-disk.ts";

setDefaultTimeout(300_000);
const isAbsent = lacksSmallDisk();

const FEATURES = `from svc import online
from svc.features import feature, features


@features
class User:
    id: int
    twice: int = feature(max_staleness="1d")


@online
def twice(id: User.id) -> User.twice:
    return int(str(id)) * 2
`;
const PROJECT = { "svc.yaml": "project: full\nenvironments:\n  default: {}\n", "features.py": FEATURES };
const KIB = 8_192;

let sandbox: Sandbox;
let disk: SmallDisk;
let project: string;
let headers: Record<string, string>;
let data: string;

beforeAll(async () => {
  if (isAbsent) return;
  sandbox = new Sandbox();
  data = join(sandbox.home, ".svc/data");
  disk = await SmallDisk.mount(data, KIB);
  sandbox.wrapper = disk.wrapper;
  project = await sandbox.write(PROJECT);
  await sandbox.startServer();
  expect(await apply()).toMatchObject({ exitCode: 0 });
  headers = await sandbox.authorized();
});
afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]();
  await disk?.[Symbol.asyncDispose]();
});

const apply = (...args: string[]) => sandbox.svc(["apply", "--dir", project, "--force", "--await", ...args]);

async function twice(id: number): Promise<unknown> {
  const body = JSON.stringify({ inputs: { "user.id": id }, outputs: ["user.twice"] });
  const response = await fetch(`${sandbox.url}/v1/query/online`, { method: "POST", headers, body });
  return ((await response.json()) as { data?: { value: unknown }[] }).data?.[0]?.value;
}

/** Queries, each right, and as many that are refused, each of which is a line of the log. */
async function expectAnswers(from: number, count: number): Promise<void> {
  for (let id = from; id < from + count; id++) {
    expect(await twice(id)).toBe(id * 2);
    await fetch(`${sandbox.url}/refused`, { headers });
  }
}

const logged = (): string => disk.run("cat", join(data, "server.log"));

test.skipIf(isAbsent)("queries go on, promises are refused with the folder, and all recovers without a restart", async () => {
  await expectAnswers(0, 20);
  disk.fill();
  await expectAnswers(100, 300);
  disk.fill();
  await expectAnswers(500, 200);

  const full = `No space is left on the device of ${data}`;
  const refused = await apply();
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining(full)]);
  expect(refused.stderr).toContain("need not be started again");
  const login = await sandbox.svc(["login", "-y"], { timeoutMs: 300_000 });
  expect([login.exitCode, login.stderr]).toEqual([1, expect.stringContaining(full)]);
  expect((await sandbox.svc(["healthcheck"])).exitCode).toBe(1);
  expect((await sandbox.svc(["server", "status"])).exitCode).toBe(0);

  disk.empty();
  await expectAnswers(1_000, 20);
  await eventually(
    () => /"log lines are missing here","lines":\d+,"reason":"no space left on the device"/.test(logged()),
    "the count of lost lines",
  );
  expect(logged().match(/log lines are missing here/g)?.length).toBeLessThan(20);
  const again = await apply();
  expect([again.exitCode, again.stderr]).toEqual([0, expect.not.stringContaining("Error")]);
  await eventually(async () => (await sandbox.svc(["healthcheck"])).exitCode === 0, "a healthy server");
  await expectAnswers(2_000, 5);
});

test.skipIf(isAbsent)("a deployment that is being built when the disk fills up comes to an end that is said", async () => {
  disk.fill();
  const queued = await apply("--branch", "full");
  expect([queued.exitCode, queued.stderr]).toEqual([1, expect.stringMatching(/space/)]);
  disk.empty();
  const built = await apply("--branch", "full");
  expect([built.exitCode, built.stderr]).toEqual([0, expect.not.stringContaining("Error")]);
});

test.skipIf(isAbsent)("stop and start work on a full disk, or name the folder that has no room", async () => {
  disk.fill();
  expect((await sandbox.svc(["server", "stop"])).exitCode).toBe(0);
  disk.fill();
  const started = await sandbox.svc(["server", "start", "--detach", "--port", "0", "--json"]);
  if (started.exitCode === 0) {
    sandbox.url = (JSON.parse(started.stdout) as { url: string }).url;
    expect((await fetch(`${sandbox.url}/health`)).status).toBe(200);
    expect((await sandbox.svc(["server", "stop"])).exitCode).toBe(0);
  } else expect(started.stderr).toMatch(new RegExp(`${data}.*no space left on the device|no space is left on the device of ${data}`));
  disk.empty();
  await sandbox.startServer();
  headers = await sandbox.authorized();
  expect(await twice(7)).toBe(14);
  expect(await twice(0)).toBe(0);
});

test.skipIf(isAbsent)("a config that has no room for a change stays as it was, and the command says which file it is", async () => {
  await using ends = new AsyncDisposableStack();
  const other = new Sandbox();
  const folder = join(other.home, ".config");
  const small = ends.use(await SmallDisk.mount(folder, 256));
  ends.use(other);
  other.wrapper = small.wrapper;
  const config = join(folder, "svc.yml");
  await other.startServer();
  small.run("sed", "-i", "/activeEnvironment/d", config);
  const old = small.run("cat", config);
  small.fill();
  const refused = await other.svc(["environment", "default"]);
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringMatching(/\.config.*no space left on the device/)]);
  expect(small.run("cat", config)).toBe(old);
  small.empty();
  expect(await other.svc(["environment", "default"])).toMatchObject({ exitCode: 0 });
  expect(small.run("cat", config)).toContain("activeEnvironment");
});

test.skipIf(isAbsent)("a first start without room says where", async () => {
  disk.fill();
  const started = await sandbox.svc(["server", "start", "--detach", "--port", "0", "--data-dir", join(data, "other")]);
  disk.empty();
  expect([started.exitCode, started.stderr]).toEqual([1, expect.stringContaining(join(data, "other"))]);
  expect(started.stderr.toLowerCase()).toMatch(/no space (is )?left on the device/);
});
