/** Functions and builds, as people use them; the page of the docs is followed. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { DataTypeSchema, PrimitiveType } from "../../gen/svc/v1/value_pb.ts";
import { arrowFile, streamOfFile } from "../../src/server/arrow/file.ts";
import { readArrowStream } from "../../src/server/arrow/read-stream.ts";
import { tempFolder } from "../client/test-context.ts";
import { followPage } from "../harness/docs-page.ts";
import { eventually } from "../harness/eventually.ts";
import { bundleOf } from "../server/deployments/deploying.ts";
import { anyPython } from "../server/python/project.ts";
import { ask, type Outcome, type Platform, runCommand, startPlatform } from "./platform.ts";

const FLOAT = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.FLOAT64 } });
const TEXT = create(DataTypeSchema, { kind: { case: "primitive", value: PrimitiveType.STRING } });
const SDK = join(import.meta.dir, "../../src/sdk");

let platform: Platform;
let project: string;

const svc = (path: string, ...words: readonly string[]): Promise<Outcome> =>
  runCommand(path, words, { home: platform.home, env: platform.env, dir: project });
const amounts = (...values: number[]): void =>
  writeFileSync(join(project, "amounts.arrow"), arrowFile([{ name: "amount", type: FLOAT, values }], values.length));
const result = (): unknown => readArrowStream(streamOfFile(readFileSync(join(project, "fees.arrow"))), 100).columns[0];

/** Runs a text of Python with the client of this platform, and gives what it prints. */
async function python(text: string): Promise<string> {
  const env = { ...platform.env, PYTHONPATH: SDK };
  const run = Bun.spawn([(await anyPython()) as string, "-c", `from svc.client import *\nclient = SvcClient()\n${text}`], {
    ...{ env, cwd: project, stdout: "pipe", stderr: "pipe" },
  });
  const [said, failure] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()]);
  expect(failure).toBe("");
  return said.trim();
}

/** Asks for a deployment that nothing on this machine has checked, and gives its id. */
async function deployUnchecked(files: Record<string, string>): Promise<string> {
  const bytes = await bundleOf(files);
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  const upload = (await ask(platform, "DeploymentService/CreateUpload", { sha256, sizeBytes: bytes.length })) as {
    uploadId: string;
    url: string;
  };
  await fetch(new URL(upload.url, platform.url), { method: "PUT", body: bytes });
  const made = await ask(platform, "DeploymentService/CreateDeployment", { uploadId: upload.uploadId, requirements: "requirements.txt" });
  return (made as { deployment: { id: string } }).deployment.id;
}

beforeAll(async () => {
  platform = await startPlatform();
  project = tempFolder("svc-docs-");
  amounts(100, 250);
}, 300_000);
afterAll(() => platform?.server.stop());

test("the page of the docs", async () => {
  const commands: Record<string, string> = {};
  await followPage("compute-functions.md", project, async ({ line, words, said }) => {
    const depth = words[0] === "apply" ? 1 : words[1] === "calls" ? 3 : 2;
    const outcome = await svc(words.slice(0, depth).join("/"), ...words.slice(depth));
    expect(outcome.exitCode, `${line}\n${outcome.stderr}`).toBe(0);
    expect(outcome.stdout, line).toStartWith(said.replace(/ ?\.\.\.\n$/, "").trimEnd());
    commands[line] = outcome.stdout;
  });
  expect(result()).toEqual([2, 5]);
  expect(commands["compute get --name fee"]).toMatch(/^Signature: +fee\(amount: float, country: str = \.\.\.\) -> float$/m);
  expect(commands["compute calls count"]).toBe("0\n");
  expect(commands["imgbuild list"]).toMatch(/^venv-[0-9a-f]{32} +Omitted/m);
}, 300_000);

test("the client calls functions, at once and kept, and is told what they raise", async () => {
  expect(
    await python(`print(client.call("fee", {"amount": [100.0, 250.0]}), client.call("fee", [{"amount": 100.0, "country": "DE"}]))`),
  ).toBe("[2.0, 5.0] [3.0]");
  const said = await python(`
call = client.submit("fee", {"amount": [1000.0]}, version=1)
print(call.result(timeout=200), call.status, call.version, len(call.trace_id), client.get_call(call.id).status)
try:
    client.submit("fee", {"amount": [1.0], "country": ["FR"]}).result(timeout=200)
except FunctionFailed as error:
    print(error.exception.kind, error.exception.line, "in fee" in error.exception.stacktrace)
try:
    client.call("fees", {"amount": [1.0]})
except ClientError as error:
    print("did you mean 'fee'" in str(error))
import asyncio
async def again():
    async with AsyncSvcClient() as client:
        call = await client.submit("fee", {"amount": [50.0]})
        return await client.call("fee", {"amount": [50.0]}), await call.result(timeout=200)
print(asyncio.run(again()))
`);
  expect(said.split("\n")).toEqual(["[20.0] succeeded 1 32 succeeded", "ValueError 10 True", "True", "([1.0], [1.0])"]);
  expect((await svc("compute/calls/count", "--name", "fee")).stdout).toBe("3\n");
  const { calls } = (await svc("compute/calls/recent", "--limit", "2", "--json")).json() as {
    calls: { state: string; trace_id: string }[];
  };
  expect(calls.map(({ state }) => state)).toEqual(["succeeded", "failed"]);
  expect((await svc("compute/calls/recent", "--limit", "5000")).stdout).toContain("Trace ID");
}, 300_000);

test("what a function raises is printed with its traceback, and bytes go to no terminal", async () => {
  amounts(1);
  writeFileSync(
    join(project, "countries.arrow"),
    arrowFile(
      [
        { name: "amount", type: FLOAT, values: [1] },
        { name: "country", type: TEXT, values: ["FR"] },
      ],
      1,
    ),
  );
  const failed = await svc("compute/call", "--name", "fee", "-i", "countries.arrow", "-o", "none.arrow");
  expect(failed.exitCode).toBe(1);
  expect(failed.stderr).toContain('File "fees.py", line 10, in fee');
  expect(failed.stderr).toContain("function 'fee' raised ValueError: no rate for FR (fees.py:10)");
  const absent = await svc("compute/call", "--name", "fee", "-i", "absent.arrow", "-o", "none.arrow");
  expect([absent.exitCode, absent.stderr]).toEqual([1, expect.stringContaining("absent.arrow")]);
  expect((await svc("compute/get")).exitCode).toBe(2);
  expect((await svc("compute/get", "--id", "fnv_1", "--version", "2")).exitCode).toBe(2);
  expect((await svc("compute/call", "--name", "fee", "--jq", ".")).exitCode).toBe(2);
}, 300_000);

test("a build is watched to its end, and one that failed exits with 1", async () => {
  const names = async (phase: string): Promise<string[]> =>
    ((await svc("imgbuild/list", "--phase", phase, "--json")).json() as { builds: { name: string }[] }).builds.map(({ name }) => name);
  const [omitted = ""] = await names("omitted");
  const watched = await svc("imgbuild/watch", omitted);
  expect([watched.exitCode, watched.stdout]).toEqual([0, `${omitted}: Omitted\n`]);
  const name = (await deployUnchecked({ "requirements.txt": "./absent-1.0-py3-none-any.whl\n" })).replace("dpl_", "venv-");
  await eventually(async () => (await svc("imgbuild/get", name)).exitCode === 0, "the build");
  const failed = await svc("imgbuild/watch", name, "--interval", "1", "--json");
  expect(failed.exitCode).toBe(1);
  const changes = failed.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { phase: string });
  expect(changes.at(-1)).toMatchObject({ name, phase: "failed", image_destinations: [], kind: "venv" });
  expect(await names("failed")).toEqual([name]);
  expect((await svc("imgbuild/get", name)).stdout).toContain("absent-1.0-py3-none-any.whl");
}, 300_000);
