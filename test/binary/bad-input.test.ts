/**
 * What the binary answers to input that cannot work: each message says what happened, where, and
 * what to do next.
 */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { startCuttingProxy } from "../harness/cutting-proxy.ts";
import { Sandbox } from "../harness/sandbox.ts";

const FEATURES = `from svc.features import features
from svc import online

@features
class User:
    id: int
    name: str
    email: str | None
    score: float
    grade: str

@online
def get_name(id: User.id) -> User.name:
    return f"user {id}"

@online
def get_score(id: User.id) -> User.score:
    if id == 13:
        raise ValueError("unlucky number")
    return id / 2

@online
def get_grade(score: User.score) -> User.grade:
    return "high" if score > 10 else "low"
`;

let sandbox: Sandbox;
let project: string;
beforeAll(async () => {
  sandbox = new Sandbox();
  await sandbox.startServer();
  project = await sandbox.write({ "svc.yaml": "project: people\nenvironments:\n  default: {}\n", "features.py": FEATURES });
  const applied = await sandbox.svc(["apply", "--force", "--await"], { cwd: project });
  expect(applied.stderr).not.toContain("Error");
  expect(applied.exitCode).toBe(0);
}, 300_000);
afterAll(() => sandbox[Symbol.asyncDispose]());

const run = (args: string[], cwd = project, env: Record<string, string> = {}) => sandbox.svc(args, { cwd, env });

test("no project file above the working directory", async () => {
  const { exitCode, stderr, stdout } = await run(["apply"], sandbox.work);
  expect(exitCode).toBe(1);
  expect(stdout).toBe("");
  expect(stderr).toContain("svc.yaml");
  expect(stderr).toContain("svc init");
});

test("broken YAML is reported with line and column", async () => {
  const dir = await sandbox.write({ "svc.yaml": "project: broken\nenvironments:\n  default: {requirements: [}\n" }, "broken-yaml");
  for (const command of [["lint", "--local"], ["apply", "--force"], ["files"]]) {
    const { exitCode, stderr, stdout } = await run(command, dir);
    expect(exitCode).toBe(1);
    expect(stderr + stdout).toMatch(/svc\.yaml:3:\d+/);
  }
});

test("unknown features name the closest ones", async () => {
  const input = await run(["query", "--in", "user.di=1", "--out", "user.name"]);
  expect(input.exitCode).toBe(1);
  expect(input.stderr).toContain("user.di");
  expect(input.stderr).toContain("user.id");
  const output = await run(["query", "--in", "user.id=1", "--out", "user.scor"]);
  expect(output.exitCode).toBe(1);
  expect(output.stderr).toContain("user.score");
});

test("a value of the wrong type names feature, type and value", async () => {
  const { exitCode, stderr } = await run(["query", "--in", "user.id=seven", "--out", "user.name"]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain("user.id");
  expect(stderr).toContain("int");
  expect(stderr).toContain("seven");
});

test("a resolver that raises: its exception, file and line, and the other features are answered", async () => {
  const { exitCode, stdout, stderr } = await run(["query", "--in", "user.id=13", "--out", "user.name,user.score,user.grade"]);
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/user\.name .*user 13/);
  expect(stderr).toContain("ValueError");
  expect(stderr).toContain("unlucky number");
  expect(stderr).toMatch(/features\.py:19/);
  const json = await sandbox.svc(["query", "--in", "user.id=13", "--out", "user.name,user.score,user.grade", "--json"], { cwd: project });
  const answer = JSON.parse(json.stdout) as { data: { field: string; value: unknown }[]; errors: { code: string; feature?: string }[] };
  expect(answer.data.find((item) => item.field === "user.name")?.value).toBe("user 13");
  expect(answer.errors.map((error) => error.code).sort()).toEqual(["RESOLVER_FAILED", "UPSTREAM_FAILED"]);
});

test("server not running: what was tried and how to start one", async () => {
  const { exitCode, stderr } = await run(["user", "--api-host", "http://127.0.0.1:9", "--client-id", "x", "--client-secret", "y"]);
  expect(exitCode).toBe(1);
  expect(stderr).toContain("127.0.0.1:9");
  expect(stderr).toContain("svc server start");
});

test("rejected credentials exit 4 and name svc login", async () => {
  const { exitCode, stderr } = await run(["user", "--client-id", "nobody", "--client-secret", "wrong"]);
  expect(exitCode).toBe(4);
  expect(stderr).toContain("svc login");
});

test("a project that does not import is refused with exception, file and line; what was live stays", async () => {
  const dir = await sandbox.write(
    { "svc.yaml": "project: people\nenvironments:\n  default: {}\n", "features.py": "import no_such_package_anywhere\n" },
    "no-import",
  );
  const { exitCode, stdout, stderr } = await run(["apply", "--force", "--await"], dir);
  expect(exitCode).toBe(1);
  expect(stdout + stderr).toContain("Error[102]");
  expect(stdout + stderr).toMatch(/features\.py:1:/);
  const still = await run(["query", "--in", "user.id=4", "--out", "user.name"]);
  expect(still.stdout).toContain("user 4");
});

test("an unknown command or flag is a usage error with the closest name", async () => {
  const command = await run(["aply"]);
  expect([command.exitCode, command.stderr.includes("apply")]).toEqual([2, true]);
  const flag = await run(["query", "--inn", "user.id=1"]);
  expect([flag.exitCode, flag.stderr.includes("--in")]).toEqual([2, true]);
});

test("errors with --json are one object on stderr and stdout stays empty", async () => {
  const { exitCode, stdout, stderr } = await run(["query", "--in", "user.id=seven", "--out", "user.name", "--json"]);
  expect(exitCode).toBe(1);
  expect(stdout).toBe("");
  const { error } = JSON.parse(stderr) as { error: { code: string; message: string } };
  expect(error.message).toContain("user.id");
});

test("an upload cut in the middle deploys nothing, and a second run works", async () => {
  const proxy = startCuttingProxy(sandbox.url, 200_000);
  try {
    const dir = await sandbox.write(
      {
        "svc.yaml": "project: people\nenvironments:\n  default: {}\n",
        "features.py": FEATURES.replace("user {id}", "person {id}"),
        "blob.txt": randomBytes(1_000_000).toString("hex"),
      },
      "large",
    );
    const cut = await run(["apply", "--force", "--await", "--api-host", proxy.url], dir);
    expect(cut.stderr).toMatch(/upload|connection/i);
    expect(cut.exitCode).toBe(1);
    expect(proxy.cuts).toBeGreaterThan(0);
    expect((await run(["query", "--in", "user.id=4", "--out", "user.name"])).stdout).toContain("user 4");
    proxy.cutting = false;
    const again = await run(["apply", "--force", "--await", "--api-host", proxy.url], dir);
    expect(again.stderr).not.toContain("Error");
    expect(again.exitCode).toBe(0);
    expect((await run(["query", "--in", "user.id=4", "--out", "user.name"])).stdout).toContain("person 4");
  } finally {
    proxy.stop();
  }
}, 300_000);

test("control characters in names are escaped", async () => {
  const { stderr, exitCode } = await run(["query", "--in", "user.id=1", "--out", "user.\u001b[31mred\u0007"]);
  expect(exitCode).toBe(1);
  expect(stderr).not.toContain("\u001b[31mred");
  expect(stderr).not.toContain("\u0007");
});
