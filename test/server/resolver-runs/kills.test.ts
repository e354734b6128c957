/** Runs of resolvers and a server that is killed: each is done once, with one time. */

import { expect, test } from "bun:test";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { type ResolverRun, ResolverRunService, ResolverRunState } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { timestampToMs } from "../../../src/domain/proto-time.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { runs, seed } from "../../harness/seed.ts";
import { type SpawnedServer, spawnServer } from "../../harness/spawned-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { ageOf, ended, history, scheduledProject, USERS } from "./worlds.ts";

/** Moments at which the server is killed, in milliseconds after the run was asked for. */
const MOMENTS = Array.from({ length: runs(6, 100) }, (_, round) => (seed + round * 23) % 150);

test("a run is done whenever the server is killed after it was asked for, and its values have one time", async () => {
  using folder = new TempFolder();
  const first = await TestServer.start(folder.path);
  expectLive(await deploy(first, scheduledProject(folder.path)));
  const token = await first.token();
  const { credentials } = first;
  await first[Symbol.asyncDispose]();
  const serviceOf = ({ url }: SpawnedServer) =>
    createClient(
      ResolverRunService,
      createConnectTransport({
        baseUrl: url,
        interceptors: [
          (next) => (request) => {
            request.header.set("authorization", `Bearer ${token}`);
            return next(request);
          },
        ],
      }),
    );

  const times: number[] = [];
  for (const [round, moment] of MOMENTS.entries()) {
    const asked = { resolver: "users", idempotencyKey: `round ${round}` };
    let run: ResolverRun | undefined;
    {
      using server = await spawnServer(folder.path, credentials);
      ({ run } = await serviceOf(server).triggerResolver(asked));
      await Bun.sleep(moment);
      await server.kill();
    }
    using server = await spawnServer(folder.path, credentials);
    const service = serviceOf(server);
    expect((await service.triggerResolver(asked)).run?.id).toBe(run?.id as string);
    const done = await ended(service, run?.id ?? "");
    expect(done).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: BigInt(USERS), failedRows: 0n });
    expect(done.createdAt).toEqual(run?.createdAt);
    times.push(done.createdAt ? timestampToMs(done.createdAt) : 0);
    await server.kill();
  }
  const told = history(folder.path, "user.age");
  const distinct = new Set(told.map(({ id, value, at }) => `${id} ${value} ${at}`));
  const wanted = times.flatMap((at) => Array.from({ length: USERS }, (_, index) => `${index + 1} ${ageOf(index + 1)} ${at}`));
  expect([...distinct].sort()).toEqual(wanted.sort());
}, 120_000);
