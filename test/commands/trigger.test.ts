/** Runs of resolvers by the command line: begun, awaited, and where their time went. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Platform, runCommand, startPlatform, writeProject } from "./platform.ts";

const DAILY = `from features import User
from svc import DataFrame, offline


@offline
def scores() -> DataFrame[User.id, User.score]:
    return DataFrame({User.id: [1, 2, 3], User.score: [0.5, 1.0, 1.5]})


@offline
def broken() -> DataFrame[User.id, User.fragile]:
    raise ValueError("no rows today")
`;

interface Run {
  readonly id: string;
  readonly state: string;
  readonly rows: number;
  readonly trace_id?: string;
  readonly spans?: readonly { readonly name: string; readonly parent_span_id?: string }[];
}

let platform: Platform;
beforeAll(async () => {
  platform = await startPlatform();
  expect((await svc("apply --force --await", writeProject({ "daily.py": DAILY }))).exitCode).toBe(0);
  await svc('infra apply metrics --spec {"trace_sample_rate":0}');
}, 300_000);
afterAll(() => platform.server.stop());
const svc = (line: string, dir?: string) => {
  const [first = "", ...others] = line.split(" ");
  return runCommand(first, others, { ...platform, ...(dir !== undefined && { dir }) });
};

test("a run is awaited, and a traced one ends with its spans, which its job and its trace have too", async () => {
  const plain = await svc("trigger --resolver scores --await");
  expect([plain.exitCode, plain.stdout]).toEqual([0, expect.stringMatching(/^Status: +Succeeded$[\s\S]*^Rows: +3$/m)]);
  expect(plain.stdout).not.toContain("Trace");
  const traced = await svc("trigger --resolver scores --await --trace");
  expect(traced.exitCode).toBe(0);
  const [, traceId] = /^Trace ([0-9a-f]{32})$/m.exec(traced.stdout) ?? [];
  expect(traced.stdout).toMatch(/^run daily\.scores +/m);
  const [, id] = /^ID: +(\S+)$/m.exec(traced.stdout) ?? [];
  expect((await svc(`jobs get ${id} --json`)).json()).toMatchObject({ id, trace_id: traceId });
  expect((await svc(`jobs get ${id}`)).stdout).toMatch(new RegExp(`^Trace: +${traceId}$`, "m"));
  expect((await svc(`trace get --trace-id ${traceId} --json`)).json()).toMatchObject({ trace_id: traceId, operation_id: id });
}, 300_000);

test("as JSON it is the run, and once it is traced its spans", async () => {
  const begun = (await svc("trigger --resolver scores --json")).json() as Run;
  expect(begun).toMatchObject({ state: expect.any(String), resolver: "daily.scores" });
  expect("spans" in begun).toBe(false);
  const run = (await svc("trigger --resolver scores --await --trace --json")).json() as Run;
  expect(run.trace_id).toMatch(/^[0-9a-f]{32}$/);
  expect(run.spans?.map(({ name }) => name)).toContain("run daily.scores");
}, 300_000);

test("a run that fails ends the command with 1, and says why above its spans", async () => {
  const { exitCode, stdout } = await svc("trigger --resolver broken --await --trace");
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^Status: +Failed$[\s\S]*^Error: +.*no rows today[\s\S]*^Trace [0-9a-f]{32}$/m);
}, 300_000);

test("spans of a run that is not awaited are refused", async () => {
  expect((await svc("trigger --resolver scores --trace")).stderr).toContain("--trace goes with --await");
});
