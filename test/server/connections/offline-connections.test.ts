import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import type { Settings } from "../../../src/domain/kind-settings.ts";
import { createSealer } from "../../../src/server/access/sealing.ts";
import { type Connections, createConnections } from "../../../src/server/connections/create-connections.ts";
import type { ConnectionChange, OfflineRoutes } from "../../../src/server/connections/offline-connections.ts";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createLog } from "../../../src/server/log.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { TempFolder, TestClock } from "../../harness/running-server.ts";

const TEAM = "team_1";
const ENVIRONMENTS = [
  { id: "env_1", name: "default" },
  { id: "env_2", name: "staging" },
];
const KEYS = { access_key_id: "AKID", secret_access_key: "c4nary-secret-key", region: "eu-central-1" };
const LAKE = { ...KEYS, warehouse: "s3://lake" };
const key = (fill: number) => ({ id: `key${fill}`, secret: new Uint8Array(32).fill(fill) });
const refused = { kind: "failed_precondition" };

let folder: TempFolder;
let store: MetadataStore;
/** What the route of Iceberg was told. */
let routed: [environment: string, settings: Settings | undefined][];
let failing: Error | undefined;
beforeEach(() => {
  folder = new TempFolder();
  store = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1.0.0" });
  routed = [];
  failing = undefined;
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

const ROUTES: OfflineRoutes = {
  iceberg: {
    async begin(environment, settings) {
      if (failing) throw failing;
      routed.push([environment, settings]);
    },
    async end(environment) {
      routed.push([environment, undefined]);
    },
  },
};

/** The capabilities as one node has them. */
function open(routes: OfflineRoutes = ROUTES, keys = [key(1)]): Connections {
  const clock = new TestClock();
  const parts = { documents: store.documents, bus: createMemoryBus(), clock, log: createLog({ clock, write: () => undefined }) };
  return createConnections({ ...parts, sealer: createSealer(keys), routes, environments: async () => ENVIRONMENTS });
}

test("a type without a driver is not activated, and nothing is changed", async () => {
  const { offline } = open({});
  const { id } = await offline.create(TEAM, "lake", "iceberg", LAKE);
  await expect(offline.activate(TEAM, "env_1", id)).rejects.toMatchObject({
    ...refused,
    message: "The connection 'lake' cannot be active: this version has no driver for iceberg.",
  });
  expect(await offline.active(TEAM, "env_1")).toBeUndefined();
  await expect(offline.deactivate(TEAM, "env_1")).rejects.toMatchObject(refused);
});

test("one connection is active in each environment, and stays while it is", async () => {
  const { offline } = open();
  const lake = await offline.create(TEAM, "lake", "iceberg", LAKE);
  const sea = await offline.create(TEAM, "sea", "iceberg", { ...LAKE, warehouse: "s3://sea" });
  await offline.activate(TEAM, "env_1", lake.id);
  await offline.activate(TEAM, "env_2", "lake");
  await offline.activate(TEAM, "env_1", sea.id);
  expect(routed.map(([environment, settings]) => [environment, settings?.warehouse, settings?.secret_access_key])).toEqual([
    ["env_1", "s3://lake", "c4nary-secret-key"],
    ["env_2", "s3://lake", "c4nary-secret-key"],
    ["env_1", "s3://sea", "c4nary-secret-key"],
  ]);
  expect([(await offline.active(TEAM, "env_1"))?.id, (await open().offline.active(TEAM, "env_2"))?.id]).toEqual([sea.id, lake.id]);
  await expect(offline.delete(TEAM, lake.id)).rejects.toMatchObject({ ...refused, message: expect.stringContaining("'staging'") });
  expect((await offline.deactivate(TEAM, "env_2")).id).toBe(lake.id);
  expect(routed.at(-1)).toEqual(["env_2", undefined]);
  expect((await offline.delete(TEAM, lake.id)).name).toBe("lake");
});

test("a connection that was deleted while it became active is none, and another takes its place", async () => {
  const { offline } = open();
  const { id } = await offline.create(TEAM, "lake", "iceberg", LAKE);
  await offline.activate(TEAM, "env_1", id);
  await store.documents.delete({ kind: "offline-connection", scope: TEAM }, id);
  expect(await offline.active(TEAM, "env_1")).toBeUndefined();
  await expect(offline.deactivate(TEAM, "env_1")).rejects.toMatchObject(refused);
  const sea = await offline.create(TEAM, "sea", "iceberg", LAKE);
  await offline.activate(TEAM, "env_1", sea.id);
  expect((await offline.active(TEAM, "env_1"))?.name).toBe("sea");
});

test("a route that cannot begin leaves the binding as it was", async () => {
  const { offline } = open();
  const { id } = await offline.create(TEAM, "lake", "iceberg", LAKE);
  failing = new Error("the store is gone");
  await expect(offline.activate(TEAM, "env_1", id)).rejects.toThrow("the store is gone");
  expect(await offline.active(TEAM, "env_1")).toBeUndefined();
});

test("a change keeps what it leaves out, takes away what it names, and reaches where the connection is active", async () => {
  const { offline } = open();
  const { id } = await offline.create(TEAM, "lake", "iceberg", { ...LAKE, catalog_id: "123456789012" });
  await offline.activate(TEAM, "env_1", id);
  const change = { name: "ocean", type: "iceberg", settings: { warehouse: "s3://ocean" }, removedSettings: ["catalog_id"] };
  const changed = await offline.update(TEAM, id, change);
  expect([changed.name, changed.settings]).toEqual(["ocean", { ...LAKE, warehouse: "s3://ocean", secret_access_key: "********" }]);
  expect(routed.at(-1)).toEqual(["env_1", { ...LAKE, warehouse: "s3://ocean" }]);
  const wrong: ConnectionChange = { name: "", type: "", settings: {}, removedSettings: [] };
  for (const one of [
    { ...wrong, type: "bigquery" },
    { ...wrong, settings: { warehouse: "gs://lake" } },
    { ...wrong, settings: { secret_access_key: "********" } },
    { ...wrong, removedSettings: ["region"] },
  ])
    await expect(offline.update(TEAM, id, one)).rejects.toMatchObject({ kind: "invalid_argument" });
  expect(await offline.open(TEAM, id)).toEqual({ ...LAKE, warehouse: "s3://ocean" });
});

test("an account that a storage configuration uses is not deleted", async () => {
  const { accounts, storage } = open();
  const account = await accounts.create(TEAM, "prod", "aws", KEYS);
  const bare = { designator: "", managed: false, planStagesBucket: "", sourceUploadBucket: "", datasetBucket: "s3://sets" };
  const config = await storage.create(TEAM, { ...bare, name: "main", kind: "aws", cloudCredentialId: "prod" });
  expect(config.content.cloudCredentialId).toBe(account.id);
  await expect(accounts.delete(TEAM, "prod")).rejects.toMatchObject({ ...refused, message: expect.stringContaining("'main'") });
  await expect(
    storage.create(TEAM, { ...bare, name: "b", kind: "gcp", datasetBucket: "gs://x-1", cloudCredentialId: "prod" }),
  ).rejects.toMatchObject({ kind: "invalid_argument" });
  await storage.documents.delete(TEAM, "main");
  expect((await accounts.delete(TEAM, "prod")).id).toBe(account.id);
});

test("another team sees and takes nothing", async () => {
  const { accounts, offline } = open();
  const account = await accounts.create(TEAM, "prod", "aws", KEYS);
  const { id } = await offline.create(TEAM, "lake", "iceberg", LAKE);
  const gone = { kind: "not_found" };
  await expect(accounts.open("team_2", account.id)).rejects.toMatchObject(gone);
  await expect(accounts.delete("team_2", account.id)).rejects.toMatchObject(gone);
  await expect(offline.open("team_2", id)).rejects.toMatchObject(gone);
  await expect(offline.activate("team_2", "env_1", id)).rejects.toMatchObject(gone);
  expect([await accounts.list("team_2"), await offline.list("team_2")]).toEqual([[], []]);
});

test("secrets are stored sealed, one by one, and sealed anew for a new key", async () => {
  const before = open();
  const account = await before.accounts.create(TEAM, "prod", "aws", KEYS);
  const { id } = await before.offline.create(TEAM, "lake", "iceberg", LAKE);
  const stored = async () =>
    JSON.stringify([await store.documents.list("cloud-account"), await store.documents.list("offline-connection")]);
  expect(await stored()).not.toContain("c4nary");
  expect(await stored()).toContain("s3://lake");
  const rotated = open(ROUTES, [key(2), key(1)]);
  const { signal } = new AbortController();
  expect([await rotated.reseal(signal), await rotated.reseal(signal)]).toEqual([2, 0]);
  const after = open(ROUTES, [key(2)]);
  expect((await after.accounts.open(TEAM, account.id)).values).toEqual(KEYS);
  expect(await after.offline.open(TEAM, id)).toEqual(LAKE);
  await expect(before.offline.open(TEAM, id)).rejects.toMatchObject(refused);
  expect(await before.reseal(signal)).toBe(0);
});
