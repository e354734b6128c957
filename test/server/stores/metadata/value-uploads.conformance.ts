/** What every metadata store must do: uploads of values from files. */

import { describe, expect, test } from "bun:test";
import type { NewJob } from "../../../../src/server/stores/metadata/jobs.ts";
import type { MetadataStore } from "../../../../src/server/stores/metadata/store.ts";
import type { NewValueUpload } from "../../../../src/server/stores/metadata/value-uploads.ts";
import type { Driver } from "../driver.ts";
import { openEach } from "./records.ts";

const upload = (id: string, environmentId = "env_1"): NewValueUpload => ({
  ...{ id, environmentId, object: `values/${id}`, sha256: "0".repeat(64) },
  request: {
    ...{ branch: "", deploymentId: "dpl_1", format: "csv", isDryRun: false, target: "both" },
    ...{ timeColumn: "ä", time: null, knownAtColumn: "", knownAt: 5 },
  },
});
const job = (id: string): NewJob => ({ id, kind: "value-upload", payload: {}, maxAttempts: 1, attemptTimeoutMs: 1 });

/** Runs the suite against a driver. */
export function valueUploadsConformance(driver: Driver<MetadataStore>): void {
  describe(`metadata store, uploads of values: ${driver.name}`, () => {
    const on = openEach(driver);

    test("are kept with their job, up to a limit for each environment", async () => {
      const { valueUploads } = on.store;
      const made = await valueUploads.create(upload("job_1"), job("job_1"), 1);
      expect(made).toMatchObject({ ...upload("job_1"), state: "received", fence: 0, rows: null, rowsWritten: 0, problems: [], error: "" });
      expect(await valueUploads.create(upload("job_2"), job("job_2"), 1)).toBe("full");
      expect(await valueUploads.create(upload("job_3", "env_2"), job("job_3"), 1)).toMatchObject({ id: "job_3" });
      await on.reopen();
      expect(await on.store.valueUploads.get("job_1")).toEqual(made as Exclude<typeof made, "full">);
      expect(await on.store.valueUploads.get("job_2")).toBeUndefined();
      expect((await on.store.jobs.job("job_1"))?.kind).toBe("value-upload");
      expect(await on.store.valueUploads.objectsInUse()).toEqual(new Set(["values/job_1", "values/job_3"]));
    });

    test("are written to by the newest fencing number, until they have ended", async () => {
      const { valueUploads } = on.store;
      await valueUploads.create(upload("job_1"), job("job_1"), 1);
      expect(await valueUploads.begin("job_1", 2)).toMatchObject({ state: "running", fence: 2 });
      expect(await valueUploads.begin("job_1", 1)).toBeUndefined();
      const progress = { rows: 9, rowsChecked: 9, rowsWritten: 4, onlineValues: 1, offlineValues: 2, deletedValues: 3 };
      expect([await valueUploads.update("job_1", 1, progress), await valueUploads.update("job_1", 2, progress)]).toEqual([false, true]);
      expect(await valueUploads.update("job_1", 2, { rowsWritten: 9 })).toBe(true);
      const problems = [{ row: 2, column: "user.id", message: "no" }];
      expect(await valueUploads.update("job_1", 3, { state: "failed", problems, error: "why" })).toBe(true);
      const ended = await valueUploads.get("job_1");
      expect(ended).toMatchObject({ ...progress, rowsWritten: 9, state: "failed", problems, error: "why", fence: 3 });
      expect(ended?.endedAt).toBeNumber();
      expect([await valueUploads.update("job_1", 4, { rowsWritten: 0 }), await valueUploads.begin("job_1", 4)]).toEqual([false, undefined]);
      expect(await valueUploads.objectsInUse()).toEqual(new Set());
      expect([await valueUploads.purge(1_000_000, 9), await valueUploads.purge(-1, 9), await valueUploads.purge(-1, 9)]).toEqual([0, 1, 0]);
    });
  });
}
