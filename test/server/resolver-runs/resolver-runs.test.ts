/** Runs of resolvers on a real server: what a plain loop over the rows would store is stored. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import { EnvironmentService } from "../../../gen/svc/v1/environment_pb.ts";
import { ResolverRunService, ResolverRunState } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { WorkflowKind, WorkflowService, WorkflowStatus } from "../../../gen/svc/v1/workflow_pb.ts";
import { msToTimestamp, timestampToMs } from "../../../src/domain/proto-time.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { ageOf, ended, history, scheduledProject, storedOnline, USERS } from "./worlds.ts";

const IDS = Array.from({ length: USERS }, (_, at) => at + 1);

let folder: TempFolder;
let server: TestServer;
let service: Client<typeof ResolverRunService>;
let deploymentId: string;

beforeAll(async () => {
  folder = new TempFolder();
  server = await TestServer.start(folder.path);
  const deployment = await deploy(server, scheduledProject(folder.path));
  expectLive(deployment);
  deploymentId = deployment.id;
  service = server.client(ResolverRunService);
}, 300_000);
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const trigger = async (request: Parameters<typeof service.triggerResolver>[0]) => {
  const { run } = await service.triggerResolver(request);
  return ended(service, run?.id ?? "");
};
const refusal = async (request: Parameters<typeof service.triggerResolver>[0]) => {
  const error = await service.triggerResolver(request).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConnectError)) throw new Error("the call was not refused");
  return `${Code[error.code]}: ${error.rawMessage}`;
};
const calls = () => readFileSync(join(folder.path, "calls"), "utf8").split("\n").length - 1;

/** The steps follow each other: later runs have the keys that earlier ones stored. */
describe("runs", () => {
  test("before anything is known of a class, a resolver with arguments has no rows", async () => {
    const run = await trigger({ resolver: "get_half" });
    expect(run).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: 0n, failedRows: 0n, error: "" });
  });

  test("a query that takes nothing runs for its own rows; all values have the time of the run", async () => {
    const run = await trigger({ resolver: "users" });
    expect(run).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: BigInt(USERS), failedRows: 0n, deploymentId });
    const at = run.createdAt ? timestampToMs(run.createdAt) : 0;
    const told = history(folder.path, "user.age");
    expect(told.map(({ id, value }) => [id, value])).toEqual(IDS.map((id) => [id, ageOf(id)]));
    expect(new Set(told.map(({ at }) => at))).toEqual(new Set([at]));
  });

  test("each is a workflow of one operation, in the deployment that it ran in", async () => {
    const workflows = server.client(WorkflowService);
    const found = (await workflows.listWorkflows({})).workflows;
    expect(found).toMatchObject([
      { subject: "users", kind: WorkflowKind.MANUAL, status: WorkflowStatus.COMPLETED, deploymentId },
      { subject: "features.get_half", status: WorkflowStatus.COMPLETED },
    ]);
    const graph = await workflows.getWorkflowGraph({ id: found[0]?.id ?? "" });
    expect(graph).toMatchObject({ nodes: [{ name: "users", kind: "resolver-run", jobs: 1, completed: 1 }], edges: [] });
  });

  test("a resolver with arguments runs for every known row; rows that fail are counted and stored nowhere", async () => {
    const run = await trigger({ resolver: "features.get_half" });
    const failing = IDS.filter((id) => ageOf(id) === 13);
    expect(run).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: BigInt(USERS), failedRows: BigInt(failing.length) });
    expect(run.error).toContain("thirteen");
    const wanted = IDS.filter((id) => !failing.includes(id)).map((id) => [id, ageOf(id) === 14 ? null : ageOf(id) / 2] as const);
    expect(history(folder.path, "user.half").map(({ id, value }) => [id, value] as const)).toEqual(wanted);
    expect(await storedOnline(server, "user.half", IDS)).toEqual(new Map(wanted));
  });

  test("a resolver that returns rows is called once, also when it is offline only and has tags", async () => {
    const run = await trigger({ resolver: "everyone", persistOffline: false });
    expect(run).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: 4n, failedRows: 0n, persistOffline: false });
    expect(calls()).toBe(1);
    expect(await storedOnline(server, "user.rank", [1, 2, 3, 4, 900])).toEqual(
      new Map([
        [1, 10],
        [2, 20],
        [3, 30],
        [900, 40],
      ]),
    );
    expect(history(folder.path, "user.rank")).toEqual([]);
    await trigger({ resolver: "everyone", persistOnline: false });
    expect(history(folder.path, "user.rank").map(({ id, value }) => [id, value])).toEqual([
      [1, 10],
      [2, 20],
      [3, 30],
      [900, 40],
    ]);
  });

  test("code that fails without a row fails the run, in its words, and is called once", async () => {
    const before = calls();
    const run = await trigger({ resolver: "broken" });
    expect(run).toMatchObject({ state: ResolverRunState.FAILED, rows: 0n });
    expect(run.error).toContain("no rows today");
    expect(calls()).toBe(before + 1);
  });

  test("a feature that is not stored online goes to the history alone, of all keys that any run stored there", async () => {
    const run = await trigger({ resolver: "get_label" });
    expect(run.rows).toBe(BigInt(USERS + 1));
    expect(history(folder.path, "user.label").map(({ value }) => value)).toEqual([...IDS, 900].map((id) => `user ${id}`));
    expect(await storedOnline(server, "user.label", IDS)).toEqual(new Map());
  });

  test("bounds leave out the rows whose inputs were observed at other times", async () => {
    const [{ at: observed } = { at: 0 }] = history(folder.path, "user.age");
    const rows = async (bounds: { lower?: number; upper?: number }) => {
      const { lower, upper } = bounds;
      const run = await trigger({
        resolver: "get_half",
        ...(lower !== undefined && { lowerBound: msToTimestamp(lower) }),
        ...(upper !== undefined && { upperBound: msToTimestamp(upper) }),
      });
      return Number(run.rows);
    };
    expect(await rows({ upper: observed })).toBe(0);
    expect(await rows({ lower: observed })).toBe(USERS);
    expect(await rows({ lower: observed + 1 })).toBe(0);
    expect(await rows({ lower: observed, upper: observed + 1 })).toBe(USERS);
  });

  test("a hundred calls with one key are one run; the same key for something else is refused", async () => {
    const asked = { resolver: "users", idempotencyKey: "once" };
    const runs = await Promise.all(Array.from({ length: 100 }, () => service.triggerResolver(asked)));
    expect(new Set(runs.map(({ run }) => run?.id)).size).toBe(1);
    const id = runs[0]?.run?.id ?? "";
    await ended(service, id);
    expect((await service.triggerResolver(asked)).run).toMatchObject({ id, state: ResolverRunState.SUCCEEDED });
    expect(await refusal({ ...asked, resolver: "get_half" })).toContain(`AlreadyExists: The idempotency key belongs to run ${id}`);
    expect(await refusal({ ...asked, persistOnline: false })).toContain("AlreadyExists");
    expect((await service.listResolverRuns({ resolver: "users" })).runs.filter((run) => run.idempotencyKey === "once")).toHaveLength(1);
  });

  test("what cannot be run is refused in words, and leaves no run behind", async () => {
    const before = (await service.listResolverRuns({})).runs.length;
    const at = msToTimestamp(Date.now());
    expect(await refusal({ resolver: "features.get_hafl" })).toContain("did you mean 'features.get_half'");
    expect(await refusal({})).toContain("InvalidArgument: Name the resolver");
    expect(await refusal({ resolver: "get_txns" })).toContain("FailedPrecondition: features.get_txns cannot run by itself");
    expect(await refusal({ resolver: "keyless" })).toContain("its rows have no user.id, so that they cannot be stored");
    expect(await refusal({ resolver: "everyone", lowerBound: at })).toContain("cannot run with bounds: it takes no features");
    expect(await refusal({ resolver: "get_label", upperBound: at })).toContain("it takes the primary key alone");
    expect(await refusal({ resolver: "get_half", lowerBound: at, upperBound: at })).toContain("has to be earlier");
    expect(await refusal({ resolver: "users", idempotencyKey: "k".repeat(201) })).toContain("at most 200 characters");
    expect(await refusal({ resolver: "users", deploymentId: "dpl_0" })).toContain("NotFound");
    expect((await service.listResolverRuns({})).runs).toHaveLength(before);
  });

  test("runs are listed page after page, and one of another environment is not found", async () => {
    const all = (await service.listResolverRuns({})).runs.map(({ id }) => id);
    const paged: string[] = [];
    for (let pageToken = ""; ; ) {
      const { runs, nextPageToken } = await service.listResolverRuns({ pageSize: 3, pageToken });
      paged.push(...runs.map(({ id }) => id));
      if (nextPageToken === "") break;
      pageToken = nextPageToken;
    }
    expect(paged).toEqual(all);
    const { environment } = await server.client(EnvironmentService).createEnvironment({ name: "other" });
    const other = server.client(ResolverRunService, { headers: { "svc-environment": environment?.id ?? "" } });
    const error = (await other.getResolverRun({ id: all[0] ?? "" }).catch((thrown: unknown) => thrown)) as ConnectError;
    expect(Code[error.code]).toBe("NotFound");
    expect((await other.listResolverRuns({})).runs).toEqual([]);
  });

  test("on a branch values go to the branch alone, and none to the history", async () => {
    const rows = history(folder.path, "user.age").length;
    expectLive(await deploy(server, scheduledProject(folder.path), { branch: "try" }));
    const branch = server.client(ResolverRunService, { headers: { "svc-branch": "try" } });
    const { run } = await branch.triggerResolver({ resolver: "users" });
    expect(await ended(service, run?.id ?? "")).toMatchObject({ rows: BigInt(USERS), persistOffline: false });
    expect(history(folder.path, "user.age")).toHaveLength(rows);
    const error = (await branch
      .triggerResolver({ resolver: "users", persistOffline: true })
      .catch((thrown: unknown) => thrown)) as ConnectError;
    expect(error.rawMessage).toContain("A branch has no history");
  });
});
