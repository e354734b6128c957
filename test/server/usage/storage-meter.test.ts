/** What the stores hold, measured on real stores and compared with what lies in their files. */

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { loadServerKeys } from "../../../src/server/access/keys.ts";
import { createObjectAddresses } from "../../../src/server/access/object-addresses.ts";
import { createLog } from "../../../src/server/log.ts";
import { createMetricRecorder, type MetricRecording } from "../../../src/server/metrics/recorder.ts";
import { createSqliteLogStore } from "../../../src/server/stores/logs/sqlite.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import { createSqliteMetricStore } from "../../../src/server/stores/metrics/sqlite.ts";
import { createDirectoryObjectStore } from "../../../src/server/stores/objects/directory.ts";
import { createSqliteOfflineStore } from "../../../src/server/stores/offline/sqlite.ts";
import { openSqliteOnlineStore } from "../../../src/server/stores/online/sqlite.ts";
import { createSqliteTelemetryStore } from "../../../src/server/stores/telemetry/sqlite.ts";
import { createStorageMeter } from "../../../src/server/usage/storage-meter.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { ManualClock } from "../jobs/manual-clock.ts";
import { line } from "../stores/logs/records.ts";
import { deploymentRecord, NOW } from "../stores/metadata/records.ts";
import { featureVersion } from "../stores/offline/versions.ts";
import { query } from "../stores/telemetry/records.ts";

const KEYS = loadServerKeys("", { SVC_SERVER_KEY: new Uint8Array(32).fill(1).toBase64() });
const NEVER = new AbortController().signal;
const MINUTE_MS = 60_000;
const ENVIRONMENTS = ["env_1", "env_2"] as const;

/** Stores of a server with two environments, whose metadata have a clock of their own. */
async function openStores(folder: string) {
  const stack = new AsyncDisposableStack();
  const clock = new ManualClock();
  const path = (name: string) => join(folder, name);
  const programVersion = "1.0.0";
  const metadata = createSqliteMetadataStore({ path: path("meta.db"), programVersion, now: () => clock.now() });
  const online = openSqliteOnlineStore(path("online.db"));
  const offline = createSqliteOfflineStore({ path: path("offline.db"), programVersion, now: () => NOW });
  const telemetry = createSqliteTelemetryStore({ path: path("telemetry.db"), programVersion, clock });
  const logs = createSqliteLogStore({ path: path("logs.db"), programVersion, clock });
  const measured = createSqliteMetricStore({ path: path("metrics.db"), programVersion, clock });
  const objects = createDirectoryObjectStore(path("objects"), createObjectAddresses({ keys: KEYS.objects, clock }));
  for (const store of [metadata, online, offline, telemetry, logs, measured]) stack.defer(() => store.close());
  await metadata.bootstrap({
    team: { id: "team_1", name: "team" },
    project: { id: "prj_1", name: "project" },
    environment: { id: "env_1", name: "default" },
    client: { id: "client_1", name: "first", secretHash: new Uint8Array([1]), permissions: [] },
    now: NOW,
  });
  await metadata.createEnvironment({ id: "env_2", name: "two", projectId: "prj_1", createdAt: NOW });
  const later = async <T>(store: T): Promise<T> => store;
  const meter = (metrics?: MetricRecording) =>
    createStorageMeter({
      ...(metrics && { metrics }),
      ...{ metadata, objects, node: () => "node_1", clock, log: createLog({ clock, write: () => undefined }) },
      ...{ online: () => later(online), offline: () => later(offline), telemetry: () => later(telemetry), logs: () => later(logs) },
      metricStore: () => later(measured),
    });
  /** Bytes by kind and environment for the minutes that passed. */
  const used = async (minutes: number) => {
    const bytes = new Map<string, number>();
    for (const { kind, environmentId, storageByteMs } of await metadata.usage.between("0000", "9999")) {
      const key = `${kind} ${environmentId}`;
      bytes.set(key, (bytes.get(key) ?? 0) + storageByteMs / MINUTE_MS / minutes);
    }
    return Object.fromEntries(bytes);
  };
  return {
    ...{ metadata, online, offline, telemetry, logs, measured, objects, meter, used },
    pass: (minutes: number) => clock.set(clock.now() + minutes * MINUTE_MS),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Bytes of all files in a folder. */
function bytesOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce(
    (sum, entry) => sum + (entry.isDirectory() ? bytesOf(join(folder, entry.name)) : statSync(join(folder, entry.name)).size),
    0,
  );
}

/** Bytes of a database without its log. */
function bytesOfDatabase(path: string): number {
  using db = new Database(path, { readonly: true });
  const one = (name: string) => Object.values(db.query<Record<string, number>, []>(`pragma ${name}`).get() ?? {})[0] ?? 0;
  return one("page_count") * one("page_size");
}

test("each environment has its values, history and bundles, and the server what cannot be told: together all there is", async () => {
  using folder = new TempFolder();
  await using stores = await openStores(folder.path);
  const { logs, metadata, objects, offline, online, telemetry } = stores;
  const stored = { env_1: 0, env_2: 0 };
  const bundles = { env_1: 0, env_2: 0 };
  for (const [n, environmentId] of ENVIRONMENTS.entries()) {
    const identities = await metadata.featureIdentities(environmentId, [{ fqn: "user.f", dtype: "str" }], NOW);
    const featureId = identities.get("user.f")?.id ?? 0;
    const values = Array.from({ length: 700 * (n + 1) }, (_, key) => ({ key: `i:${key}`, value: "v".repeat(key % 50) }));
    online.put("main", {
      values: values.map((one) => ({ ...one, namespace: "user", featureId, observedAt: 1, resolver: "m.f" })),
      rows: [],
    });
    for (const { key, value } of values) stored[environmentId] += `main${"user"}${key}"${value}"m.f`.length + 24;
    const keys = values.map(({ key }) => key);
    const observations = { keys, values: keys.map((_, at) => at), observedAt: keys.map(() => 1) };
    await offline.append([
      { version: featureVersion(featureId, { environmentId }), deploymentId: "dpl_1", resolver: "m.f", op: "query", ...observations },
    ]);
    const bundle = new Uint8Array(1_000 * (n + 1)).fill(n);
    const sha256 = new Bun.CryptoHasher("sha256").update(bundle).digest("hex");
    await objects.put(sha256, new Blob([bundle]).stream());
    await objects.put(`datasets/${environmentId}/rev_${n}/file`, new Blob(["123"]).stream());
    bundles[environmentId] = bundle.length + 3;
    const deployment = deploymentRecord(`dpl_${n}`, environmentId, { sourceSha256: sha256 });
    const job = { kind: "k", payload: null, maxAttempts: 1, attemptTimeoutMs: 1 };
    await metadata.createDeployment(deployment, { id: `job_${n}`, ...job });
  }
  online.put("main", {
    values: [{ namespace: "user", key: "i:1", featureId: 99, value: "of nobody", observedAt: 1, resolver: "" }],
    rows: [],
  });
  await online.flush();
  await objects.put("uploaded/and-not-deployed", new Blob(["12345"]).stream());
  telemetry.recordQuery(query("qry_1", NOW));
  logs.record(line("said", NOW));
  await Promise.all([telemetry.flush(), logs.flush()]);

  const meter = stores.meter();
  await meter.measure(NEVER);
  await meter.measureObjects(NEVER);
  expect(await stores.used(1)).toEqual({});
  stores.pass(10);
  await meter.measure(NEVER);
  await meter.measureObjects(NEVER);
  const used = await stores.used(10);
  const sumOf = (kind: string) => Object.entries(used).reduce((sum, [key, bytes]) => sum + (key.startsWith(kind) ? bytes : 0), 0);
  for (const environmentId of ENVIRONMENTS) {
    expect(used[`online_store ${environmentId}`]).toBe(stored[environmentId]);
    expect(used[`object_store ${environmentId}`]).toBe(bundles[environmentId]);
    expect(used[`offline_store ${environmentId}`]).toBe((await offline.measure()).environments.get(environmentId));
  }
  expect(sumOf("online_store")).toBe(bytesOfDatabase(join(folder.path, "online.db")));
  expect(sumOf("offline_store")).toBe(bytesOfDatabase(join(folder.path, "offline.db")));
  expect(sumOf("object_store")).toBe(bytesOf(join(folder.path, "objects")));
  expect(used["object_store "]).toBe(5);
  expect(used["query_log "]).toBe(sumOf("query_log"));
  expect(used["query_log "]).toBe((await telemetry.figures()).bytes + (await logs.figures()).bytes);
});

test("a restart and another node go on where the last measure was; a pause without a server counts for twenty minutes", async () => {
  using folder = new TempFolder();
  await using stores = await openStores(folder.path);
  await stores.objects.put("an-object", new Blob(["0123456789"]).stream());
  await stores.meter().measureObjects(NEVER);
  const meters = [stores.meter(), stores.meter()];
  for (const meter of meters) await meter.measureObjects(NEVER);
  for (let round = 0; round < 5; round++) {
    stores.pass(1);
    for (const meter of meters) await meter.settle();
  }
  expect(await stores.used(5)).toEqual({ "object_store ": 10 });
  stores.pass(600);
  const later = stores.meter();
  await later.settle();
  await later.measureObjects(NEVER);
  await later.settle();
  expect(await stores.used(25)).toEqual({ "object_store ": 10 });
});

test("a store whose measure took long is left alone for longer, and counted on", async () => {
  using folder = new TempFolder();
  await using stores = await openStores(folder.path);
  await stores.objects.put("an-object", new Blob(["0123456789"]).stream());
  const measuredAt: number[] = [];
  const { list } = stores.objects;
  let minute = 0;
  stores.objects.list = (options) => {
    measuredAt.push(minute);
    stores.pass(2);
    minute += 2;
    return list(options);
  };
  const meter = stores.meter();
  for (; minute < 40; minute += 10) {
    await meter.measureObjects(NEVER);
    stores.pass(10);
  }
  expect([measuredAt, await stores.used(32)]).toEqual([[0, 22], { "object_store ": 10 }]);
});

test("a store that cannot be measured is left out, and the others are counted", async () => {
  using folder = new TempFolder();
  await using stores = await openStores(folder.path);
  stores.online.measureFeatures = () => Promise.reject(new Error("broken"));
  const meter = stores.meter();
  for (const minutes of [0, 10]) {
    stores.pass(minutes);
    await meter.measure(NEVER);
  }
  expect(Object.keys(await stores.used(10))).toEqual(["query_log "]);
});

test("what each store holds is recorded by its name", async () => {
  using folder = new TempFolder();
  await using stores = await openStores(folder.path);
  const clock = new ManualClock();
  const log = createLog({ clock, write: () => undefined });
  const metrics = createMetricRecorder({ store: async () => stores.measured, clock, log });
  const meter = stores.meter(metrics);
  await stores.objects.put("uploaded/one", new Blob(["12345"]).stream());
  await meter.measure(NEVER);
  await meter.measureObjects(NEVER);
  const bytes = new Map(metrics.series().map(({ metric, labels, last }) => [`${metric} ${labels.store}`, last]));
  const names = ["logs", "metadata", "metrics", "objects", "offline", "online", "telemetry"].map((store) => `store.bytes ${store}`);
  expect([...bytes.keys()].filter((key) => key.startsWith("store.bytes")).sort()).toEqual(names);
  expect(bytes.get("store.bytes objects")).toBe(5);
  expect(bytes.get("store.bytes telemetry")).toBe((await stores.telemetry.figures()).bytes);
  expect(bytes.get("store.bytes logs")).toBe((await stores.logs.figures()).bytes);
  expect(bytes.get("store.bytes metrics")).toBe((await stores.measured.figures()).bytes);
  expect(bytes.get("store.bytes metadata")).toBeGreaterThan(10_000);
  expect(bytes.get("store.bytes metadata")).toBeLessThanOrEqual(bytesOfDatabase(join(folder.path, "meta.db")) + 1_000_000);
  metrics.end();
});
