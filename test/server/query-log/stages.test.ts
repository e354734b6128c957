import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { createObjectAddresses } from "../../../src/server/access/object-addresses.ts";
import { storeStages, sweepStages } from "../../../src/server/query-log/stages.ts";
import { createDirectoryObjectStore } from "../../../src/server/stores/objects/directory.ts";
import type { ObjectStore } from "../../../src/server/stores/objects/store.ts";
import { createSqliteTelemetryStore } from "../../../src/server/stores/telemetry/sqlite.ts";
import type { TelemetryStore } from "../../../src/server/stores/telemetry/store.ts";
import { TempFolder, TestClock } from "../../harness/running-server.ts";

const DAY = 24 * 3_600_000;
let folder: TempFolder;
let clock: TestClock;
let telemetry: TelemetryStore;
let objects: ObjectStore;

beforeEach(() => {
  folder = new TempFolder();
  clock = new TestClock();
  telemetry = createSqliteTelemetryStore({ path: join(folder.path, "telemetry.db"), programVersion: "1", clock, ttlMs: DAY });
  objects = createDirectoryObjectStore(
    join(folder.path, "objects"),
    createObjectAddresses({ keys: [{ id: "k", secret: new Uint8Array(32).fill(7) }], clock }),
  );
});
afterEach(async () => {
  await telemetry.close();
  folder[Symbol.dispose]();
});

/** Stores a stage with rows and one without; returns the digest of the object with the rows. */
async function store(queryId: string): Promise<string> {
  const stage = { kind: "python", provider: "m.f", path: "user", rows: 1, columns: ["user.a"], types: [], omitted: "" };
  await storeStages({ telemetry, objects }, { queryId, environmentId: "env_1", startedAt: clock.now() }, [
    { ...stage, lines: ["[0,[1],{}]"] },
    { ...stage, lines: [], omitted: "too many" },
  ]);
  const [first] = await telemetry.stages(queryId);
  return first?.sha256 ?? "";
}

test("a sweep deletes the objects of old stages, and forgets the stages", async () => {
  const old = await store("q1");
  clock.advance(DAY + 1_000);
  const young = await store("q2");
  await sweepStages({ telemetry, objects });
  expect([await objects.size(old), await telemetry.stages("q1")]).toEqual([undefined, []]);
  expect(await objects.size(young)).toBeGreaterThan(0);
  expect(await telemetry.stages("q2")).toHaveLength(2);
});

test("stages whose object cannot be deleted stay known, and are tried again", async () => {
  const old = await store("q1");
  clock.advance(DAY + 1_000);
  const refusing: ObjectStore = { ...objects, delete: () => Promise.reject(new Error("the disk is read-only")) };
  expect(await sweepStages({ telemetry, objects: refusing }).catch(String)).toContain("read-only");
  expect((await telemetry.expiredStages()).queryIds).toEqual(["q1"]);
  await sweepStages({ telemetry, objects });
  expect([await objects.size(old), (await telemetry.expiredStages()).queryIds]).toEqual([undefined, []]);
});
