/** Containers, sandboxes and volumes, which share the engine. */

import type { KeyRing } from "../access/keys.ts";
import type { CollectionParts } from "../documents/collection.ts";
import type { ContainerEngine, EngineCluster, EngineDescription } from "../engines/container-engine.ts";
import { allowsHost, createEngineRouter } from "../engines/engine-router.ts";
import { engineAddress, findEngine } from "../engines/find-engine.ts";
import { createHostEngine } from "../engines/host/host-engine.ts";
import type { LogRecorder } from "../logs/recorder.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import type { Secrets } from "../secrets/secrets.ts";
import type { ContainerPods } from "../shells/shells.ts";
import { createContainerPods } from "./container-pods.ts";
import { createContainerRecords, hasEnded } from "./container-records.ts";
import { type ContainerUses, measureContainers } from "./container-use.ts";
import { type Containers, type ContainersOptions, createContainers } from "./containers.ts";
import { createExecs, type Execs } from "./execs.ts";
import { createSandboxes, type Sandboxes } from "./sandboxes.ts";
import { createVolumes, type Volumes } from "./volumes.ts";

/** The capabilities. */
export interface ContainerCapabilities {
  readonly containers: Containers;
  readonly sandboxes: Sandboxes;
  /** Commands in both. */
  readonly execs: Execs;
  /** Both as pods, in which shells are opened. */
  readonly pods: ContainerPods;
  readonly volumes: Volumes;
  /** What containers and sandboxes used when they were last measured. */
  readonly uses: ContainerUses;
  /** The engine of images. Throws Failure failed_precondition when there is none. */
  engine(): ContainerEngine;
  /** Whether there is an engine, or where one would be. */
  hasEngine(): boolean;
  /** Which engine it is. Rejects with Failure when there is none, or it does not answer. */
  describeEngine(signal: AbortSignal): Promise<EngineDescription>;
  /** The cluster that containers run in; undefined = this machine, or there is no engine. */
  cluster(): EngineCluster | undefined;
  /** Finds those again that ran when the server stopped. */
  resume(): Promise<void>;
  /** Ends and removes all of an environment. */
  forget(environmentId: string): Promise<void>;
  close(): Promise<void>;
}

/** Makes the capabilities. */
export function createContainerCapabilities(
  options: CollectionParts & {
    readonly env: Readonly<Record<string, string | undefined>>;
    /** The home folder of the user who runs the server. */
    readonly home: string;
    /** Folder of the volumes. */
    readonly folder: string;
    /** Folder of what is kept of programs of this machine. */
    readonly hostFolder: string;
    readonly secrets: () => Promise<Pick<Secrets, "variables">>;
    readonly halted: (environmentId: string) => AbortSignal;
    readonly logs: LogRecorder;
    readonly recorded: ContainersOptions["recorded"];
    readonly journal: ContainersOptions["journal"];
    readonly keys: KeyRing;
    readonly node: string;
    readonly metrics: MetricRecorder;
    /** Names of scaling groups by their ids. */
    readonly groupNames: () => Promise<ReadonlyMap<string, string>>;
    readonly goneNodes: NonNullable<ContainersOptions["goneNodes"]>;
  },
): ContainerCapabilities {
  const { env, home, halted, keys, node, clock } = options;
  const images = lazyEngine(() => findEngine(env, home));
  const router = createEngineRouter({
    images,
    host: lazyEngine(() => createHostEngine({ folder: options.hostFolder, env })),
    isHostAllowed: allowsHost(env),
  });
  const engine = (image?: string): ContainerEngine => {
    if (image !== undefined) router.require(image);
    return router;
  };
  const records = createContainerRecords(options, "container");
  const sandboxRecords = createContainerRecords(options, "sandbox");
  const users = async (environmentId: string, volume: string): Promise<readonly string[]> =>
    (await records.list(environmentId))
      .filter((one) => !hasEnded(one) && one.spec.volumes.some((mount) => mount.volume === volume))
      .map(({ name }) => name);
  const volumes = createVolumes({ ...options, users });
  const shared = { ...options, engine, engineParts: () => router.parts, volumes };
  const containers = createContainers({ ...shared, records, kind: "container" });
  const boxes = createContainers({ ...shared, records: sandboxRecords, kind: "sandbox" });
  const measured = [
    { kind: "container", all: containers },
    { kind: "sandbox", all: boxes },
  ] as const;
  const uses = measureContainers({ ...options, measured });
  const execs = createExecs({ engine, halted, keys, node, clock });

  return {
    containers,
    sandboxes: createSandboxes(boxes, execs),
    execs,
    pods: createContainerPods(measured, execs),
    volumes,
    uses,
    engine: images,
    hasEngine: () => engineAddress(env, home) !== undefined,
    describeEngine: async (signal) => engine().describe(signal),
    cluster: () => (engineAddress(env, home)?.kind === "kubernetes" ? images().cluster : undefined),
    async resume() {
      await Promise.all([containers.resume(), boxes.resume()]);
    },
    async forget(environmentId) {
      await Promise.all([containers.forget(environmentId), boxes.forget(environmentId)]);
      await volumes.forget(environmentId);
    },
    async close() {
      await execs.close();
      await Promise.all([containers.close(), boxes.close(), volumes.close()]);
    },
  };
}

/** The engine, looked for again until it is found. */
function lazyEngine(find: () => ContainerEngine): () => ContainerEngine {
  let engine: ContainerEngine | undefined;
  return () => {
    engine ??= find();
    return engine;
  };
}
