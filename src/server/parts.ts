/** The stores and capabilities of a server, opened at once where a start needs them and on first use where it does not. */

import { join } from "node:path";
import type { DataDirectory } from "./data-directory.ts";
import type { Deployments } from "./deployments/deployments.ts";
import type { Log } from "./log.ts";
import type { StartOptions } from "./start.ts";
import { METADATA_APPLICATION_ID, METADATA_MIGRATIONS } from "./stores/metadata/schema.ts";
import { createSqliteMetadataStore } from "./stores/metadata/sqlite.ts";
import type { MetadataStore } from "./stores/metadata/store.ts";
import { createDirectoryObjectStore } from "./stores/objects/directory.ts";
import type { ObjectStore } from "./stores/objects/store.ts";
import { OFFLINE_APPLICATION_ID, OFFLINE_MIGRATIONS } from "./stores/offline/schema.ts";
import type { OfflineStore } from "./stores/offline/store.ts";
import { ONLINE_APPLICATION_ID, ONLINE_MIGRATIONS } from "./stores/online/schema.ts";
import type { OnlineStore } from "./stores/online.ts";
import { inspectDatabase } from "./stores/sqlite/open.ts";
import { TELEMETRY_APPLICATION_ID, TELEMETRY_MIGRATIONS } from "./stores/telemetry/schema.ts";
import type { TelemetryStore } from "./stores/telemetry/store.ts";
import type { ValueSinks } from "./writes/value-sinks.ts";

/** The parts. The functions load on first use and give the same part ever after. */
export interface Parts {
  readonly metadata: MetadataStore;
  readonly objects: ObjectStore;
  readonly online: () => Promise<OnlineStore>;
  readonly offline: () => Promise<OfflineStore>;
  /** Where queries hand over what they computed, for the offline store. */
  readonly sinks: () => Promise<ValueSinks>;
  readonly telemetry: () => Promise<TelemetryStore>;
  readonly deployments: () => Promise<Deployments>;
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
  inspectDatabase({ path: files.metadata, applicationId: METADATA_APPLICATION_ID, migrations: METADATA_MIGRATIONS, programVersion });
  inspectDatabase({ path: files.online, applicationId: ONLINE_APPLICATION_ID, migrations: ONLINE_MIGRATIONS, programVersion });
  inspectDatabase({ path: files.offline, applicationId: OFFLINE_APPLICATION_ID, migrations: OFFLINE_MIGRATIONS, programVersion });
  inspectDatabase({ path: files.telemetry, applicationId: TELEMETRY_APPLICATION_ID, migrations: TELEMETRY_MIGRATIONS, programVersion });
  const metadata = createSqliteMetadataStore({ path: files.metadata, programVersion });
  const objects = createDirectoryObjectStore(directory.file("objects"));

  const online = once(async () => {
    const { openSqliteOnlineStore } = await import("./stores/online/sqlite.ts");
    return openSqliteOnlineStore(files.online, {
      now: () => clock.now(),
      programVersion,
      onWriteFailure: (error) => log.error("values could not be written to the online store", { error: error.message }),
    });
  });
  const offline = once(async () => {
    const { createSqliteOfflineStore } = await import("./stores/offline/sqlite.ts");
    return createSqliteOfflineStore({ path: files.offline, programVersion, now: () => clock.now() });
  });
  const sinks = once(async () => {
    const { createValueSinks } = await import("./writes/value-sinks.ts");
    return createValueSinks({ store: await offline(), log });
  });
  const telemetry = once(async () => {
    const { createSqliteTelemetryStore } = await import("./stores/telemetry/sqlite.ts");
    return createSqliteTelemetryStore({
      path: files.telemetry,
      programVersion,
      clock,
      deleteObject: (sha256) => objects.delete(sha256),
      onError: (error) => log.warning("telemetry could not be written", { error: String(error) }),
      onDrop: (dropped) => log.warning("telemetry was dropped", { dropped_since_start: dropped }),
    });
  });
  const deployments = once(async () => {
    const { createDeployments } = await import("./deployments/deployments.ts");
    const home = options.home ?? env.SVC_HOME ?? (env.HOME ? join(env.HOME, ".svc") : directory.path);
    return createDeployments({
      metadata,
      objects,
      online: await online(),
      telemetry: await telemetry(),
      sinks: await sinks(),
      clock,
      log,
      env,
      home,
      folder: directory.file("deployments"),
      ...(options.idleMs === undefined ? {} : { idleMs: options.idleMs }),
    });
  });

  return {
    metadata,
    objects,
    online,
    offline,
    sinks,
    telemetry,
    deployments,
    async close() {
      await (await deployments.opened())?.close();
      await (await sinks.opened())?.close();
      await (await offline.opened())?.close();
      await (await telemetry.opened())?.close();
      await (await online.opened())?.close();
      await metadata.close();
    },
  };
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
