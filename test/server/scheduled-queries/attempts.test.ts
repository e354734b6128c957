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
import type { JobRecord } from "../../../src/server/stores/metadata/jobs.ts";
import type { OfflineQueryFilter, OfflineQueryStanding } from "../../../src/server/stores/metadata/offline-queries.ts";
import { ManualClock } from "../jobs/manual-clock.ts";

const ENVIRONMENT = { id: "env_1" } as EnvironmentRecord;

function scheduled() {
  const clock = new ManualClock();
  const graph = create(GraphSchema, { scheduledQueries: [{ name: "nightly", schedule: "1d", outputs: ["user.name"] }] });
  const begun: { id: string; state: string }[] = [];
  const queries = {
    async start(_: unknown, { id = "", queryName }: OfflineQueryWish) {
      begun.push({ id, state: "queued" });
      return { id, queryName } as OfflineQueryStanding;
    },
    async find(id: string) {
      const found = begun.find((one) => one.id === id);
      if (!found) throw new Failure("not_found", "none");
      return found as OfflineQueryStanding;
    },
    list: async ({ state }: OfflineQueryFilter) =>
      begun.filter((one) => state === undefined || one.state === state) as OfflineQueryStanding[],
  };
  const options = {
    metadata: { environment: async () => ENVIRONMENT },
    deployments: { resolve: async () => "dpl_1", graph: async () => graph },
    queries: async () => queries,
    ...{ bus: createMemoryBus(), clock, log: createLog({ write: () => undefined, clock }) },
  };
  const { handler, trigger } = createScheduledQueries(options as unknown as ScheduledQueriesOptions);
  const payload = { key: "env_1/nightly", dueAt: 0, payload: { environmentId: "env_1", name: "nightly" } };
  return {
    begun,
    trigger: () => trigger(ENVIRONMENT, "nightly", "client_1"),
    attempt: (id: string) => handler.run({ id, payload, createdAt: 0 } as unknown as JobRecord, {} as Attempt),
  };
}

test("a job begins its run once, however often it is tried, also when the run has ended meanwhile", async () => {
  const { attempt, begun } = scheduled();
  await attempt("job_1");
  await attempt("job_1");
  expect(begun).toEqual([{ id: "ofq_1", state: "queued" }]);
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
