/** Filters and samples of a resolver's `Cron`, on a real server: which rows run. */

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@connectrpc/connect";
import { ResolverRunService, ResolverRunState } from "../../../gen/svc/v1/resolver_run_pb.ts";
import { eventually } from "../../harness/eventually.ts";
import { TempFolder, TestServer } from "../../harness/running-server.ts";
import { deploy, expectLive } from "../deployments/deploying.ts";
import { Cluster } from "../nodes/two-nodes.ts";
import { ended, history } from "./worlds.ts";

/** Users 1 to 9; those of an even id are of age. */
const IDS = [1, 2, 3, 4, 5, 6, 7, 8, 9];
const ADULTS = [2, 4, 6, 8];

/**
 * Resolvers with all kinds of filters and samples. Each one's rows are told to a file, a line for a
 * row; the sample `picked` reads its keys from a file.
 */
function project(folder: string): Record<string, string> {
  return {
    "features.py": `import json
from typing import Optional
from svc import Cron, DataFrame, _, offline, online
from svc.features import features

def ran(name, id):
    with open(${JSON.stringify(join(folder, "ran"))}, "a") as lines:
        lines.write(f"{name} {id}\\n")

@features
class Team:
    id: int
    is_open: bool

@features
class User:
    id: int
    age: int
    adult: bool = _.age > 17
    team_id: Team.id
    team: Team
    flag: Optional[bool]
    fragile: bool
    nowhere: bool
    by_age: int
    by_team: int
    by_flag: int
    by_fragile: int
    by_nowhere: int
    by_sample: int
    by_both: int
    by_broken: int
    rank: int

@offline
def users() -> DataFrame[User.id, User.age, User.team_id, User.flag]:
    ids = list(range(1, 10))
    flags = [True if id < 4 else None if id < 6 else False for id in ids]
    ages = [20 if id % 2 == 0 else 10 for id in ids]
    return DataFrame({User.id: ids, User.age: ages, User.team_id: [id % 3 for id in ids], User.flag: flags})

@online(translate=False)
def is_open(id: Team.id) -> Team.is_open:
    return id == 1

@online(translate=False)
def fragile(id: User.id) -> User.fragile:
    if id == 5:
        raise ValueError("five is fragile")
    return id > 3

@offline
def picked() -> DataFrame[User.id]:
    with open(${JSON.stringify(join(folder, "picked"))}) as keys:
        return DataFrame({User.id: json.load(keys)})

@offline
def broken_sample() -> DataFrame[User.id]:
    raise ValueError("no sample today")

@online(translate=False, cron=Cron("0 * * * *", filter=User.adult))
def by_age(id: User.id) -> User.by_age:
    ran("by_age", id)
    return id

@online(translate=False, cron=Cron("1d", filter=User.team.is_open))
def by_team(id: User.id, team: User.team_id) -> User.by_team:
    ran("by_team", id)
    return id

@online(translate=False, cron=Cron("1d", filter=User.flag))
def by_flag(id: User.id) -> User.by_flag:
    ran("by_flag", id)
    return id

@online(translate=False, cron=Cron("1d", filter=User.fragile))
def by_fragile(id: User.id) -> User.by_fragile:
    ran("by_fragile", id)
    return id

@online(translate=False, cron=Cron("1d", filter=User.nowhere))
def by_nowhere(id: User.id) -> User.by_nowhere:
    ran("by_nowhere", id)
    return id

@online(translate=False, cron=Cron("1d", sample=picked))
def by_sample(id: User.id) -> User.by_sample:
    ran("by_sample", id)
    return id

@online(translate=False, cron=Cron("1d", filter=User.adult, sample=picked))
def by_both(id: User.id) -> User.by_both:
    ran("by_both", id)
    return id

@online(translate=False, cron=Cron("1d", sample=broken_sample))
def by_broken(id: User.id) -> User.by_broken:
    ran("by_broken", id)
    return id

@offline(cron=Cron("1d", filter=User.adult))
def returned() -> DataFrame[User.id, User.age, User.by_team]:
    return DataFrame({User.id: [1, 2, 81, 82], User.age: [50, 3, 40, 4], User.by_team: [1, 2, 81, 82]})

@offline(cron=Cron("1d", filter=User.adult))
def rank() -> DataFrame[User.id, User.rank]:
    return DataFrame({User.id: [1, 2, 3, 4], User.rank: [10, 20, 30, 40]})
`,
  };
}

/** The users for whom a resolver was called, sorted. */
function called(folder: TempFolder, resolver: string): number[] {
  try {
    const lines = readFileSync(join(folder.path, "ran"), "utf8").split("\n");
    return lines
      .flatMap((line) => (line.startsWith(`${resolver} `) ? [Number(line.slice(resolver.length + 1))] : []))
      .sort((a, b) => a - b);
  } catch {
    return [];
  }
}

describe("runs that were asked for", () => {
  let folder: TempFolder;
  let server: TestServer;
  let service: Client<typeof ResolverRunService>;

  const trigger = async (resolver: string) => {
    const { run } = await service.triggerResolver({ resolver });
    return ended(service, run?.id ?? "");
  };
  const pick = (ids: readonly number[]) => writeFileSync(join(folder.path, "picked"), JSON.stringify(ids));
  const stored = (feature: string) => history(folder.path, feature).map(({ id }) => id);

  beforeAll(async () => {
    folder = new TempFolder();
    server = await TestServer.start(folder.path);
    expectLive(await deploy(server, project(folder.path)));
    service = server.client(ResolverRunService);
    expect((await trigger("users")).rows).toBe(BigInt(IDS.length));
  }, 300_000);
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test("the list says which rows each schedule is for", async () => {
    const { resolvers } = await service.listScheduledResolvers({});
    const told = Object.fromEntries(resolvers.map(({ resolver, schedule, filter, sample }) => [resolver, [schedule, filter, sample]]));
    expect(told).toMatchObject({
      "features.by_age": ["0 * * * *", "user.adult", ""],
      "features.by_team": ["1d", "user.team.is_open", ""],
      "features.by_sample": ["1d", "", "features.picked"],
      "features.by_both": ["1d", "user.adult", "features.picked"],
    });
  });

  test("rows of which the filter is not true neither run nor count nor are stored", async () => {
    expect(await trigger("by_age")).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: 4n, failedRows: 0n, error: "" });
    expect([called(folder, "by_age"), stored("user.by_age")]).toEqual([ADULTS, ADULTS]);
    expect(stored("user.adult")).toEqual([]);
  });

  test("a filter may be of a related row", async () => {
    expect(await trigger("by_team")).toMatchObject({ rows: 3n, failedRows: 0n, error: "" });
    expect([called(folder, "by_team"), stored("user.by_team")]).toEqual([
      [1, 4, 7],
      [1, 4, 7],
    ]);
  });

  test("null is not true, also when the history alone knows it", async () => {
    expect(await trigger("by_flag")).toMatchObject({ rows: 3n, failedRows: 0n, error: "" });
    expect(stored("user.by_flag")).toEqual([1, 2, 3]);
  });

  test("a row whose filter fails is counted, told, and does not run", async () => {
    const run = await trigger("by_fragile");
    expect(run).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: 6n, failedRows: 1n });
    expect(run.error).toStartWith("the filter user.fragile: ");
    expect(run.error).toContain("five is fragile");
    expect([called(folder, "by_fragile"), stored("user.by_fragile")]).toEqual([
      [4, 6, 7, 8, 9],
      [4, 6, 7, 8, 9],
    ]);
  });

  test("a filter that nothing gives fails the run", async () => {
    const run = await trigger("by_nowhere");
    expect(run).toMatchObject({ state: ResolverRunState.FAILED, rows: 9n, failedRows: 9n });
    expect(run.error).toStartWith("the filter user.nowhere: ");
    expect(called(folder, "by_nowhere")).toEqual([]);
  });

  test("the rows of a sample run alone, each once, also those that the history does not know", async () => {
    pick([3, 1, 3, 70]);
    expect(await trigger("by_sample")).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: 3n, failedRows: 0n });
    expect([called(folder, "by_sample"), stored("user.by_sample")]).toEqual([
      [1, 3, 70],
      [1, 3, 70],
    ]);
    pick([]);
    expect(await trigger("by_sample")).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: 0n });
  });

  test("a filter chooses among the rows of a sample", async () => {
    pick([1, 2, 3, 4]);
    expect(await trigger("by_both")).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: 2n, failedRows: 0n });
    expect([called(folder, "by_both"), stored("user.by_both")]).toEqual([
      [2, 4],
      [2, 4],
    ]);
  });

  test("a sample that fails, fails the run in its words", async () => {
    const run = await trigger("by_broken");
    expect(run).toMatchObject({ state: ResolverRunState.FAILED, rows: 0n });
    expect(run.error).toStartWith("its sample features.broken_sample: ");
    expect(run.error).toContain("no sample today");
    expect(called(folder, "by_broken")).toEqual([]);
  });

  test("rows that a resolver returns are filtered before they are stored", async () => {
    expect(await trigger("rank")).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: 2n, failedRows: 0n });
    expect(history(folder.path, "user.rank").map(({ id, value }) => [id, value])).toEqual([
      [2, 20],
      [4, 40],
    ]);
  });

  test("the filter of returned rows is computed from what was returned, not from what is stored", async () => {
    expect(await trigger("returned")).toMatchObject({ state: ResolverRunState.SUCCEEDED, rows: 2n, failedRows: 0n, error: "" });
    const ages = history(folder.path, "user.age").slice(-2);
    expect(ages.map(({ id, value }) => [id, value])).toEqual([
      [9, 10],
      [81, 40],
    ]);
    const first = history(folder.path, "user.age").filter(({ id }) => id < 3);
    expect(first.map(({ id, value }) => [id, value])).toEqual([
      [1, 10],
      [1, 50],
      [2, 20],
    ]);
  });
});

test("a run by its schedule is for the same rows", async () => {
  using folder = new TempFolder();
  await using cluster = new Cluster();
  const server = await cluster.start("a");
  expectLive(await deploy(server, project(folder.path)));
  const service = server.client(ResolverRunService);
  const { run } = await service.triggerResolver({ resolver: "users" });
  await ended(service, run?.id ?? "");
  await eventually(
    async () => (await service.listScheduledResolvers({})).resolvers.every(({ nextRunAt }) => nextRunAt !== undefined),
    "the next runs are planned",
  );
  const { resolverRuns, environments } = cluster.openMetadata();
  const [environment] = await environments();
  cluster.clock.advance(3_600_000);
  cluster.clock.release();
  const runs = () => resolverRuns.list({ environmentId: environment?.id ?? "", resolver: "features.by_age", limit: 10 });
  await eventually(async () => (await runs())[0]?.state === "succeeded", "the run of the tick has ended");
  expect(await runs()).toMatchObject([{ cause: "schedule", rows: 4, failedRows: 0, error: "" }]);
  expect(called(folder, "by_age")).toEqual(ADULTS);
}, 300_000);
