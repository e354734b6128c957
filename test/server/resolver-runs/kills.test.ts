/** Runs of resolvers and a server that is killed: each is done once, with one time. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { type ResolverRun, ResolverRunService, ResolverRunState } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { timestampToMs } from "../../../src/domain/proto-time.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { runs, seed } from "../../harness/seed.ts";
import { clientOf, type SpawnedServer, spawnServer } from "../../harness/spawned-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { ageOf, ended, history, scheduledProject, USERS } from "./worlds.ts";

/** Moments at which the server is killed, in milliseconds after the run was asked for. */
const MOMENTS = Array.from({ length: runs(6, 100) }, (_, round) => (seed + round * 23) % 150);

const runsOf = (server: SpawnedServer, token: string) => clientOf(ResolverRunService, server, token);

test("an incremental run that is killed passes over nothing: every change is stored, whenever the server died", async () => {
  using folder = new TempFolder();
  const path = join(folder.path, "changes.db");
  const change = (id: number, value: number, at: number): void => {
    using db = new Database(path, { create: true });
    db.run("create table if not exists change (id integer primary key, value integer, changed_at text)");
    db.run("insert or replace into change values (?, ?, ?)", [id, value, new Date(at).toISOString()]);
  };
  const start = Date.now() - 86_400_000;
  for (let id = 0; id < USERS; id++) change(id, 0, start);
  const first = await TestServer.start(folder.path);
  expectLive(
    await deploy(first, {
      "features.py": `from svc.features import features
from svc.sources import SQLiteSource

changes = SQLiteSource(name="changes", path=${JSON.stringify(path)})

@features
class Thing:
    id: int
    value: int
`,
      "things.svc.sql": `-- resolves: Thing
-- source: changes
-- incremental: {mode: row, incremental_column: changed_at}
select id, value, changed_at from change
`,
    }),
  );
  const token = await first.token();
  const { credentials } = first;
  await first[Symbol.asyncDispose]();
  let read = 0;
  for (const [round, moment] of MOMENTS.slice(0, runs(4, 60)).entries()) {
    // Two changes before each run, and one while it may go on.
    change(round % USERS, round + 1, start + round * 1_000 + 1);
    change((round * 7 + 3) % USERS, round + 100, start + round * 1_000 + 2);
    const asked = { resolver: "things", idempotencyKey: `round ${round}` };
    {
      await using server = await spawnServer(folder.path, credentials);
      await runsOf(server, token).triggerResolver(asked);
      change((round * 5 + 11) % USERS, round + 200, start + round * 1_000 + 3);
      await Bun.sleep(moment);
      await server.kill();
    }
    await using server = await spawnServer(folder.path, credentials);
    const service = runsOf(server, token);
    const done = await ended(service, (await service.triggerResolver(asked)).run?.id ?? "");
    expect(done).toMatchObject({ state: ResolverRunState.SUCCEEDED, failedRows: 0n });
    // The next run reads what came while this one went on; together they have everything.
    const next = await ended(service, (await service.triggerResolver({ resolver: "things" })).run?.id ?? "");
    read = Number(next.rows);
    using db = new Database(path, { readonly: true });
    const wanted = db.query<{ id: number; value: number }, []>("select id, value from change order by id").all();
    const stored = new Map(history(folder.path, "thing.value").map(({ id, value }) => [id, value]));
    expect(wanted.map(({ id }) => stored.get(id))).toEqual(wanted.map(({ value }) => value));
    await server.kill();
  }
  // It did not get there by reading everything each time.
  expect(read).toBeLessThan(USERS);
}, 300_000);

test("a run is done whenever the server is killed after it was asked for, and its values have one time", async () => {
  using folder = new TempFolder();
  const first = await TestServer.start(folder.path);
  expectLive(await deploy(first, scheduledProject(folder.path)));
  const token = await first.token();
  const { credentials } = first;
  await first[Symbol.asyncDispose]();
  const serviceOf = (server: SpawnedServer) => runsOf(server, token);

  const times: number[] = [];
  for (const [round, moment] of MOMENTS.entries()) {
    const asked = { resolver: "users", idempotencyKey: `round ${round}` };
    let run: ResolverRun | undefined;
    {
      await using server = await spawnServer(folder.path, credentials);
      ({ run } = await serviceOf(server).triggerResolver(asked));
      await Bun.sleep(moment);
      await server.kill();
    }
    await using server = await spawnServer(folder.path, credentials);
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
}, 300_000);
