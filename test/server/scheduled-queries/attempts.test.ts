/** Attempts of a schedule's job, beside runs that others begin: over queries that are kept in memory. */

import { expect, test } from "bun:test";
import { create } from "@bufbuild/protobuf";
import { GraphSchema } from "../../../gen/svc/v1/graph_pb.ts";
import { Failure } from "../../../src/server/failure.ts";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import type { Attempt } from "../../../src/server/jobs/runner.ts";
import { createLog } from "../../../src/server/log.ts";
import type { OfflineQueryWish } from "../../../src/server/offline-queries/wish.ts";
import { createScheduledQueries, type ScheduledQueriesOptions } from "../../../src/server/scheduled-queries/scheduled-queries.ts";
import type { EnvironmentRecord } from "../../../src/server/stores/metadata/identity.ts";
import type { JobRecord, NewJob } from "../../../src/server/stores/metadata/jobs.ts";
import type { OfflineQueryFilter, OfflineQueryStanding } from "../../../src/server/stores/metadata/offline-queries.ts";
import { ManualClock } from "../jobs/manual-clock.ts";

const ENVIRONMENT = { id: "env_1" } as EnvironmentRecord;

function scheduled(incrementalResolvers: readonly string[] = []) {
  const clock = new ManualClock();
  const graph = create(GraphSchema, {
    scheduledQueries: [{ name: "nightly", schedule: "1d", outputs: ["user.name"], incrementalResolvers: [...incrementalResolvers] }],
  });
  const begun: { id: string; state: string; environmentId: string; request: { rows: object } }[] = [];
  const counted: { subject?: string | undefined; revision: number }[] = [];
  let progress = { maxIngested: 7_000_000, revision: 1 };
  let isCut = false;
  const queries = {
    async start(_: unknown, { id = "", queryName, rows }: OfflineQueryWish) {
      const lowerBound = rows.from === "keys" ? (rows.lowerBound ?? null) : null;
      begun.push({ id, state: "queued", environmentId: ENVIRONMENT.id, request: { rows: { from: "keys", lowerBound } } });
      if (isCut) throw new Error("the node died");
      return { id, queryName, request: { numShards: 1 } } as unknown as OfflineQueryStanding;
    },
    async find(id: string) {
      const found = begun.find((one) => one.id === id);
      if (!found) throw new Failure("not_found", "none");
      return found as unknown as OfflineQueryStanding;
    },
    list: async ({ state }: OfflineQueryFilter) =>
      begun.filter((one) => state === undefined || one.state === state) as unknown as OfflineQueryStanding[],
  };
  const options = {
    metadata: {
      environment: async () => ENVIRONMENT,
      incremental: { progress: async () => progress },
      jobs: {
        enqueue: async ({ subject, payload }: NewJob) =>
          void counted.push({ subject, revision: (payload as { counts: { revision: number } }).counts.revision }),
      },
    },
    deployments: { resolve: async () => "dpl_1", graph: async () => graph },
    queries: async () => queries,
    ...{ bus: createMemoryBus(), clock, log: createLog({ write: () => undefined, clock }) },
  };
  const { handler, trigger } = createScheduledQueries(options as unknown as ScheduledQueriesOptions);
  const payload = { key: "env_1/nightly", dueAt: 0, payload: { environmentId: "env_1", name: "nightly" } };
  return {
    begun,
    counted,
    cut: (cut: boolean) => {
      isCut = cut;
    },
    set: (maxIngested: number) => {
      progress = { maxIngested, revision: progress.revision + 1 };
    },
    trigger: () => trigger(ENVIRONMENT, "nightly", "client_1", ""),
    attempt: (id: string) => handler.run({ id, payload, createdAt: 0 } as unknown as JobRecord, {} as Attempt),
  };
}

test("a job begins its run once, however often it is tried, also when the run has ended meanwhile", async () => {
  const { attempt, begun } = scheduled();
  await attempt("job_1");
  await attempt("job_1");
  expect(begun).toMatchObject([{ id: "ofq_1", state: "queued" }]);
  for (const one of begun) one.state = "completed";
  await attempt("job_1");
  expect(begun.length).toBe(1);
  await attempt("job_2");
  expect(begun.map(({ id }) => id)).toEqual(["ofq_1", "ofq_2"]);
});

test("a run that somebody asked for is no run of the schedule: it is in its way only while it goes on", async () => {
  const { attempt, begun, trigger } = scheduled();
  await trigger();
  await attempt("job_1");
  expect(begun.length).toBe(1);
  for (const one of begun) one.state = "completed";
  await attempt("job_2");
  expect(begun.map(({ id }) => id).slice(1)).toEqual(["ofq_2"]);
});

test("a run that was cut off before it was counted is counted by the next attempt, unless somebody has set the progress since", async () => {
  const { attempt, begun, counted, cut, set } = scheduled(["m.r"]);
  for (const job of ["job_1", "job_2"]) {
    for (const one of begun) one.state = "completed";
    cut(true);
    await expect(attempt(job)).rejects.toThrow("the node died");
    cut(false);
    if (job === "job_2") set(3_000_000);
    await attempt(job);
  }
  expect(counted).toEqual([{ subject: "ofq_1", revision: 1 }]);
});
