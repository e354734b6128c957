/**
 * The stores and capabilities of a server, opened at once where a start needs them and on first use
 * where it does not.
 */

import { join } from "node:path";
import { once } from "../../domain/once.ts";
import { createFirstTenant, type InitialCredentials } from "../access/first-tenant.ts";
import { loadServerKeys, type ServerKeys } from "../access/keys.ts";
import { createObjectAddresses } from "../access/object-addresses.ts";
import type { Deployments } from "../deployments/deployments.ts";
import { createMemoryBus } from "../jobs/bus.ts";
import type { JobRunner } from "../jobs/runner.ts";
import type { Log } from "../log.ts";
import { readNodeId } from "../nodes/node-id.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import type { OnlineStore } from "../stores/online.ts";
import type { TelemetryStore } from "../stores/telemetry/store.ts";
import type { ValueSinks } from "../writes/value-sinks.ts";
import type { DataDirectory } from "./data-directory.ts";
import { openStores } from "./open-stores.ts";
import type { StartOptions } from "./options.ts";
import type { StoreSettings } from "./store-settings.ts";

/** Jobs that run at once: builds wait for Python and the disk more than they compute. */
const JOB_SLOTS = 8;

/** The parts. The functions load on first use and give the same part ever after. */
export interface Parts {
  readonly keys: ServerKeys;
  readonly metadata: MetadataStore;
  /**
   * Sees to it that the metadata have a tenant; gives the credentials when it was created now.
   * Throws StartError when it is gone.
   */
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
  /** The error of a start that failed while the parts were in use: damage is said in words. */
  explain(error: unknown): unknown;
  /** Closes what was opened, users before what they use. */
  close(): Promise<void>;
}

/** Opens the parts. Throws StartError when a store cannot be used; nothing stays open then. */
export async function openParts({
  directory,
  options,
  settings = {},
  log,
}: {
  readonly directory: DataDirectory;
  readonly options: StartOptions;
  /** Stores that are not in the data directory; default: all are. */
  readonly settings?: StoreSettings;
  readonly log: Log;
}): Promise<Parts> {
  const { clock, env } = options;
  let keys: ServerKeys | undefined;
  const serverKeys = (): ServerKeys => {
    keys ??= loadServerKeys(directory.file("server.key"));
    return keys;
  };
  const stores = await openStores({
    directory,
    settings,
    clock,
    log,
    programVersion: options.version,
    addresses: () => createObjectAddresses({ key: serverKeys().objects, clock }),
  });
  const { metadata, objects } = stores;
  const bus = createMemoryBus();
  const online = once(stores.online);
  const offline = once(stores.offline);
  const telemetry = once(stores.telemetry);
  const sinks = once(async () => {
    const { createValueSinks } = await import("../writes/value-sinks.ts");
    return createValueSinks({ store: await offline(), log });
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
    keys: serverKeys(),
    metadata,
    openTenant: async () => {
      if ((await metadata.environments()).length === 0) stores.refuseEmptyMetadata();
      const created = await createFirstTenant(metadata, clock.now());
      stores.noteMetadata();
      return created;
    },
    objects,
    online,
    offline,
    sinks,
    telemetry,
    deployments,
    jobRunner,
    explain: stores.explain,
    async close() {
      await (await jobRunner.opened())?.stop();
      await (await deployments.opened())?.close();
      await (await sinks.opened())?.close();
      await (await offline.opened())?.close();
      await (await telemetry.opened())?.close();
      await (await online.opened())?.close();
      await stores.close();
    },
  };
}
