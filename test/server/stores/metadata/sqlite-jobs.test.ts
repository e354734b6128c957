import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import type { ClaimedJob, NewJob } from "../../../../src/server/stores/metadata/jobs.ts";
import { createSqliteMetadataStore } from "../../../../src/server/stores/metadata/sqlite.ts";
import {
  AWAITED,
  CANCEL_THOSE_AFTER,
  DOOM_THOSE_AFTER,
  FREE_THOSE_AFTER,
  IN_SCOPE,
  IN_SCOPE_AFTER,
  jobQueries,
  LONG_ENDED,
  NEWEST_OF_PLACE,
  NEXT_KIND,
  NEXT_LANE,
  NEXT_OF_GROUP,
  NEXT_OF_LANE,
  NEXT_SCOPE,
  NEXT_TO_WAKE,
  RUNNING_BY_GROUP,
  RUNNING_BY_OPERATION,
  WAITING,
  WAKE,
} from "../../../../src/server/stores/metadata/sqlite-jobs.ts";
import type { Writer } from "../../../../src/server/stores/sqlite/group-commit.ts";
import { isNearLinear } from "../../../harness/growth.ts";
import { TempFolder } from "../../../harness/running-server.ts";

test("a page of the queue, and what is claimed next, are found by searches of indexes alone, which sort nothing", async () => {
  using folder = new TempFolder();
  const path = join(folder.path, "meta.db");
  await createSqliteMetadataStore({ path, programVersion: "1.0.0" }).close();
  using db = new Database(path);
  const plan = (sql: string) =>
    db
      .query<{ detail: string }, []>(`explain query plan ${sql}`)
      .all()
      .map(({ detail }) => detail);
  expect(plan(NEXT_KIND)).toEqual(["SEARCH job USING COVERING INDEX job_by_scope (kind>?)"]);
  expect(plan(NEXT_SCOPE)).toEqual(["SEARCH job USING COVERING INDEX job_by_scope (kind=? AND scope>?)"]);
  expect(plan(NEWEST_OF_PLACE)).toEqual([
    "SEARCH job USING COVERING INDEX job_by_scope (kind=? AND scope=? AND state=? AND seq>? AND seq<?)",
  ]);
  expect(plan(NEXT_OF_GROUP)).toEqual(["SEARCH job USING INDEX job_waiting_in_group (resource_group=?)"]);
  const lane = "SEARCH job USING COVERING INDEX job_ready (kind=? AND ";
  expect(plan(NEXT_LANE).filter((step) => !/^(COMPOUND|CO-ROUTINE|SCAN \(subquery|LEFT-MOST|UNION ALL)/.test(step))).toEqual([
    `${lane}resource_group=? AND slots=? AND gated_by=? AND gate>?)`,
    `${lane}resource_group=? AND slots=? AND gated_by>?)`,
    `${lane}resource_group=? AND slots>?)`,
    `${lane}resource_group>?)`,
  ]);
  expect(plan(NEXT_OF_LANE)).toEqual([`${lane}resource_group=? AND slots=? AND gated_by=? AND gate=? AND priority<?)`]);
  expect(plan(NEXT_TO_WAKE)).toEqual(["SEARCH job USING COVERING INDEX job_asleep (kind=?)"]);
  expect(plan(WAKE).slice(-1)).toEqual(["SEARCH job USING COVERING INDEX job_asleep (kind=? AND run_at<?)"]);
  expect(plan(WAITING)).toContain("SEARCH job USING INDEX job_ready (kind=?)");
  expect(plan(RUNNING_BY_GROUP)).toEqual(["SCAN job USING COVERING INDEX job_by_group"]);
  expect(plan(RUNNING_BY_OPERATION)).toEqual(["SCAN job USING COVERING INDEX job_running_of_operation"]);
  expect(plan(AWAITED)[0]).toBe("SEARCH job_after USING PRIMARY KEY (job_id=?)");
  for (const change of [DOOM_THOSE_AFTER, CANCEL_THOSE_AFTER, FREE_THOSE_AFTER])
    expect(plan(change)[0]).toBe("SEARCH job USING INDEX sqlite_autoindex_job_1 (id=?)");
  expect(plan(LONG_ENDED)).toEqual(["SEARCH job USING INDEX job_by_end (updated_at<?)"]);
  expect(plan(IN_SCOPE).filter((step) => step.startsWith("SEARCH"))).toEqual([
    "SEARCH job USING COVERING INDEX job_by_scope (kind=? AND scope=?)",
    "SEARCH job USING COVERING INDEX job_by_scope (kind=? AND scope>? AND scope<?)",
  ]);
  expect(plan(IN_SCOPE_AFTER).filter((step) => /^(SEARCH|SCAN) job/.test(step))).toEqual([
    "SEARCH job USING COVERING INDEX job_by_scope (kind=? AND scope=?)",
    "SEARCH job USING COVERING INDEX job_by_scope (kind=? AND scope>? AND scope<?)",
  ]);
});

test("a job costs as much in a long queue as in a short one: after others, of a full group, gated and delayed", async () => {
  using folder = new TempFolder();
  const path = join(folder.path, "meta.db");
  await createSqliteMetadataStore({ path, programVersion: "1.0.0" }).close();
  let at = 1_000;
  let round = 0;
  const run = (size: number): void => {
    using db = new Database(path);
    db.run("pragma synchronous = off");
    db.run("delete from job");
    let done: unknown;
    const writer: Writer = {
      write(work) {
        const value = work();
        done = value;
        return Promise.resolve(value);
      },
      flush: () => undefined,
    };
    const { jobs, insertJob } = jobQueries(db, writer, () => at);
    const of = (patch: Partial<NewJob>) =>
      insertJob({ id: `job_${++round}`, kind: "k", payload: {}, maxAttempts: 1, attemptTimeoutMs: 1, ...patch }).id;
    const first = of({});
    const shards: string[] = [];
    db.transaction(() => {
      for (let n = 0; n < size / 4; n++) {
        shards.push(of({ after: [first], operationId: "op", gate: 8 }));
        of({ group: { name: "full", slots: 0 } });
        of({ delayMs: n < 100 ? 1 : 1_000_000 });
        of({ group: { name: "g", slots: 3 } });
      }
      of({ after: shards });
    })();
    at += 1;
    for (let ended = 0; ; ) {
      jobs.claim({ node: "n", kinds: ["k", "other"], limit: 10, leaseMs: 1_000 });
      const claimed = done as ClaimedJob[];
      for (const { lease } of claimed) jobs.succeed(lease);
      jobs.nextDueIn("n", ["k"]);
      ended += claimed.length;
      if (claimed.length > 0) continue;
      expect(ended).toBe(1 + Math.ceil(size / 4) * 2 + Math.min(100, Math.ceil(size / 4)) + 1);
      return;
    }
  };
  expect(isNearLinear(4_000, run)).toBe(true);
}, 300_000);
