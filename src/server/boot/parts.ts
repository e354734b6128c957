/** The stores and capabilities of a server, opened at once where a start needs them and on first use where it does not. */

import { join } from "node:path";
import { createFirstTenant, type InitialCredentials } from "../access/first-tenant.ts";
import type { Deployments } from "../deployments/deployments.ts";
import { createMemoryBus } from "../jobs/bus.ts";
import type { JobRunner } from "../jobs/runner.ts";
import type { Log } from "../log.ts";
import { readNodeId } from "../nodes/node-id.ts";
import { METADATA_APPLICATION_ID, METADATA_MIGRATIONS } from "../stores/metadata/schema.ts";
import { createSqliteMetadataStore } from "../stores/metadata/sqlite.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { createDirectoryObjectStore } from "../stores/objects/directory.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import { OFFLINE_APPLICATION_ID, OFFLINE_MIGRATIONS } from "../stores/offline/schema.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import { ONLINE_APPLICATION_ID, ONLINE_MIGRATIONS } from "../stores/online/schema.ts";
import type { OnlineStore } from "../stores/online.ts";
import { inspectDatabase, isDamage, setAside } from "../stores/sqlite/open.ts";
import { TELEMETRY_APPLICATION_ID, TELEMETRY_MIGRATIONS } from "../stores/telemetry/schema.ts";
import type { TelemetryStore } from "../stores/telemetry/store.ts";
import type { ValueSinks } from "../writes/value-sinks.ts";
import type { DataDirectory } from "./data-directory.ts";
import { type KeptStore, readKnownStores } from "./known-stores.ts";
import type { StartOptions } from "./start.ts";

/** Jobs that run at once: builds wait for Python and the disk more than they compute. */
const JOB_SLOTS = 8;

/** The parts. The functions load on first use and give the same part ever after. */
export interface Parts {
  readonly metadata: MetadataStore;
  /** Sees to it that the metadata have a tenant; gives the credentials when it was created now. Throws StartError when it is gone. */
  openTenant(): Promise<InitialCredentials | undefined>;
  readonly objects: ObjectStore;
  readonly online: () => Promise<OnlineStore>;
  readonly offline: () => Promise<OfflineStore>;
  /** Where queries hand over what they computed, for the offline store. */
  readonly sinks: () => Promise<ValueSinks>;
  readonly telemetry: () => Promise<TelemetryStore>;
  readonly deployments: () => Promise<Deployments>;
  /** What does the jobs of this node. */
  readonly jobRunner: () => Promise<JobRunner>;
  /** Closes what was opened, users before what they use. */
  close(): Promise<void>;
}

/** Opens the parts. Every database is looked at before any is touched. Throws StartError when one cannot be used. */
export function openParts({ directory, options, log }: { directory: DataDirectory; options: StartOptions; log: Log }): Parts {
  const { clock, env, version: programVersion } = options;
  const files = {
    metadata: directory.file("meta.db"),
    online: directory.file("online.db"),
    offline: directory.file("offline.db"),
    telemetry: directory.file("telemetry.db"),
  };
  const kept = {
    "meta.db": inspectDatabase({
      path: files.metadata,
      applicationId: METADATA_APPLICATION_ID,
      migrations: METADATA_MIGRATIONS,
      programVersion,
    }),
    "offline.db": inspectDatabase({
      path: files.offline,
      applicationId: OFFLINE_APPLICATION_ID,
      migrations: OFFLINE_MIGRATIONS,
      programVersion,
    }),
  };
  const renewable = {
    "online.db": { path: files.online, applicationId: ONLINE_APPLICATION_ID, migrations: ONLINE_MIGRATIONS, programVersion },
    "telemetry.db": { path: files.telemetry, applicationId: TELEMETRY_APPLICATION_ID, migrations: TELEMETRY_MIGRATIONS, programVersion },
  };
  const renewed = (name: keyof typeof renewable, damage: unknown, keptAt: string): void =>
    log.warning(`${name} was damaged: it was set aside, and begun anew`, { reason: textOf(damage), kept: keptAt });
  const isEmpty = (store: KeptStore): boolean => (kept[store]?.version ?? 0) === 0;
  const known = readKnownStores(directory, isEmpty);
  const noteStore = (store: KeptStore): void => {
    try {
      known.add(store);
    } catch (error) {
      log.warning("the stores of the data directory could not be noted", { store, error: textOf(error) });
    }
  };
  for (const [name, database] of Object.entries(renewable)) {
    try {
      const isBegun = (inspectDatabase(database)?.version ?? 0) > 0;
      if (!isBegun && !isEmpty("meta.db")) log.info(`${name} is missing or empty: it is begun anew`);
    } catch (error) {
      if (!isDamage(error)) throw error;
      renewed(name as keyof typeof renewable, error, setAside(database.path));
    }
  }
  const metadata = createSqliteMetadataStore({ path: files.metadata, programVersion, now: () => clock.now() });
  const bus = createMemoryBus();
  if (!isEmpty("offline.db")) noteStore("offline.db");
  const objects = createDirectoryObjectStore(directory.file("objects"));

  const online = once(async () => {
    const { openRenewableOnlineStore } = await import("../stores/online/renewable.ts");
    return openRenewableOnlineStore(files.online, {
      now: () => clock.now(),
      programVersion,
      onRenewal: (damage, keptAt) => renewed("online.db", damage, keptAt),
      onWriteFailure: (error) => log.error("values could not be written to the online store", { error: error.message }),
    });
  });
  const offline = once(async () => {
    const { createSqliteOfflineStore } = await import("../stores/offline/sqlite.ts");
    return createSqliteOfflineStore({ path: files.offline, programVersion, now: () => clock.now(), onOpen: () => noteStore("offline.db") });
  });
  const sinks = once(async () => {
    const { createValueSinks } = await import("../writes/value-sinks.ts");
    return createValueSinks({ store: await offline(), log });
  });
  const telemetry = once(async () => {
    const { createSqliteTelemetryStore } = await import("../stores/telemetry/sqlite.ts");
    return createSqliteTelemetryStore({
      path: files.telemetry,
      programVersion,
      clock,
      deleteObject: (sha256) => objects.delete(sha256),
      onRenewal: (reason, keptAt) => renewed("telemetry.db", reason, keptAt),
      onError: (error) => log.warning("telemetry could not be written", { error: String(error) }),
      onDrop: (dropped) => log.warning("telemetry was dropped", { dropped_since_start: dropped }),
    });
  });
  const deployments = once(async () => {
    const { createDeployments } = await import("../deployments/deployments.ts");
    const home = options.home ?? env.SVC_HOME ?? (env.HOME ? join(env.HOME, ".svc") : directory.path);
    return createDeployments({
      metadata,
      objects,
      online: await online(),
      telemetry: await telemetry(),
      sinks: await sinks(),
      bus,
      clock,
      log,
      env,
      home,
      folder: directory.file("deployments"),
      ...(options.idleMs === undefined ? {} : { idleMs: options.idleMs }),
    });
  });
  const jobRunner = once(async () => {
    const [{ startJobRunner }, { BUILD_JOB }] = await Promise.all([import("../jobs/runner.ts"), import("../deployments/builds.ts")]);
    return startJobRunner({
      jobs: metadata.jobs,
      bus,
      clock,
      log,
      node: readNodeId(directory.file("node.id"), { clock, log }),
      slots: JOB_SLOTS,
      handlers: { [BUILD_JOB]: (await deployments()).builds },
    });
  });

  return {
    metadata,
    openTenant: async () => {
      if ((await metadata.environments()).length === 0) known.refuseEmpty("meta.db");
      const created = await createFirstTenant(metadata, clock.now());
      noteStore("meta.db");
      return created;
    },
    objects,
    online,
    offline,
    sinks,
    telemetry,
    deployments,
    jobRunner,
    async close() {
      await (await jobRunner.opened())?.stop();
      await (await deployments.opened())?.close();
      await (await sinks.opened())?.close();
      await (await offline.opened())?.close();
      await (await telemetry.opened())?.close();
      await (await online.opened())?.close();
      await metadata.close();
    },
  };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

interface Once<T> {
  (): Promise<T>;
  /** What was made, without making it; undefined when it was not wanted or failed. */
  opened(): Promise<T | undefined>;
}

function once<T>(make: () => Promise<T>): Once<T> {
  let made: Promise<T> | undefined;
  const get = (): Promise<T> => {
    if (made) return made;
    const making = make();
    made = making;
    making.catch(() => {
      if (made === making) made = undefined;
    });
    return making;
  };
  return Object.assign(get, { opened: async () => made?.catch(() => undefined) });
}
