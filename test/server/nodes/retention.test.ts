import { expect, test } from "bun:test";
import { join } from "node:path";
import { retentionJobs } from "../../../src/server/nodes/retention.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { TempFolder } from "../../harness/running-server.ts";

const DAY_MS = 86_400_000;

test("jobs go a month after their end, however many there are; nodes that are gone go after a day", async () => {
  using folder = new TempFolder();
  let now = 1_700_000_000_000;
  const store = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1", now: () => now });
  const run = async () => {
    for (const job of retentionJobs(store, Date.now)) await job.run(new AbortController().signal);
  };
  const job = { kind: "k", payload: null, maxAttempts: 1, attemptTimeoutMs: 1 };
  await Promise.all(Array.from({ length: 2_100 }, (_, n) => store.jobs.enqueue({ ...job, id: `j${n}` })));
  await Promise.all(Array.from({ length: 2_099 }, (_, n) => store.jobs.cancel(`j${n}`)));
  await store.nodes.join({ id: "n", url: "", gatewayUrl: "", version: "", isDraining: false });
  now += DAY_MS + 1;
  await run();
  expect([(await store.jobs.job("j0"))?.state, await store.nodes.list(100 * DAY_MS)]).toEqual(["cancelled", []]);
  now += 29 * DAY_MS;
  await run();
  expect([await store.jobs.job("j0"), await store.jobs.job("j2098"), (await store.jobs.job("j2099"))?.state]).toEqual([
    undefined,
    undefined,
    "queued",
  ]);
  await store.close();
});
