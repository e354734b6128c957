/** The answers of HealthService, with and without credentials. */

import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { HealthCheckStatus, HealthService } from "../../../../gen/svc/v1/health_pb.ts";
import { loadServerKeys } from "../../../../src/server/access/keys.ts";
import { createTokens } from "../../../../src/server/access/tokens.ts";
import type { Platform } from "../../../../src/server/wire/platform.ts";
import { partsOf } from "../../../../src/server/wire/services/health-parts.ts";
import { eventually } from "../../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../../harness/running-server.ts";

const folder = new TempFolder();
let server: TestServer;

beforeAll(async () => {
  server = await TestServer.start(folder.path);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test("a stranger is told that the server answers, and its version", async () => {
  const { status, version, checks } = await server.client(HealthService, { token: null }).checkHealth({});
  expect([status, version, checks]).toEqual([HealthCheckStatus.OK, "1.2.3-test", []]);
});

test("whoever may read is told of every part", async () => {
  const asked = () => server.client(HealthService).checkHealth({});
  await eventually(async () => (await asked()).status === HealthCheckStatus.OK, "the node has joined, and every part works");
  const { status, version, checks, droppedRecords } = await asked();
  expect([status, version, checks.length, droppedRecords]).toEqual([HealthCheckStatus.OK, "1.2.3-test", 16, 0n]);
});

test("credentials that are wrong, or may not read, are refused", async () => {
  const { tokens: keys } = loadServerKeys(join(folder.path, "data", "server.key"));
  const caller = { clientId: server.credentials.clientId, teamId: "t", permissions: ["deploy"] };
  const deployer = await createTokens({ keys, clock: server.clock }).issue(caller);
  await expect(server.client(HealthService, { token: "x" }).checkHealth({})).rejects.toMatchObject({ code: Code.Unauthenticated });
  await expect(server.client(HealthService, { token: deployer }).checkHealth({})).rejects.toMatchObject({ code: Code.PermissionDenied });
});

test("a schedule that nobody takes, a node that the others do not see, and workers that die are told", async () => {
  const pool = { health: () => ({ workers: 1, degraded: true, lastFailure: "out of memory" }) };
  const schedule = (kind: string, nextAt: number | undefined) => ({ kind, nextAt });
  const broken = {
    node: () => "node_1",
    metadata: {
      schedules: { due: async () => ({ now: 200_000, schedules: [schedule("new", undefined), schedule("nightly", 80_000)] }) },
      nodes: { list: async () => [{ id: "node_2" }] },
    },
    deployments: async () => ({ running: { list: () => [{ id: "dpl_1", pool }] } }),
  } as unknown as Platform;
  const failure = async (name: string) =>
    partsOf(broken)
      .find((part) => part.name === name)
      ?.probe?.()
      .then(
        () => "it works",
        (error: Error) => error.message,
      );
  expect(await failure("Scheduler")).toBe("the schedule nightly has been due for 2m, and no node took it");
  expect(await failure("Node Lease")).toBe("this node (node_1) is not among the 1 that run");
  expect(await failure("Python Workers")).toBe("those of deployment dpl_1 keep dying: out of memory");
});
