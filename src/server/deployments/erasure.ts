/**
 * The erasure of what a removed environment held: its stored values, its history, its datasets, its
 * logs, its topics, its bundles and its rows. Each step may be repeated, so that a job that was cut
 * off begins again.
 */

import type { Clock } from "../../context/clock.ts";
import type { JobHandler } from "../jobs/runner.ts";
import type { Log } from "../log.ts";
import type { LogStore } from "../stores/logs/store.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { MetricStore } from "../stores/metrics/store.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import type { TelemetryStore } from "../stores/telemetry/store.ts";
import type { TileStore } from "../stores/tiles/store.ts";
import type { TopicStore } from "../stores/topics/store.ts";
import type { ValueSinks } from "../writes/value-sinks.ts";
import type { Deployments } from "./deployments.ts";
import { DRAIN_GRACE_MS } from "./running.ts";

/** The services that the erasure needs. */
export interface ErasureOptions {
  readonly metadata: MetadataStore;
  readonly objects: ObjectStore;
  readonly online: OnlineStore;
  readonly offline: () => Promise<OfflineStore>;
  readonly tiles: () => Promise<Pick<TileStore, "dropSeries">>;
  readonly sinks: ValueSinks;
  readonly telemetry: TelemetryStore;
  readonly metrics: Pick<MetricStore, "forgetEnvironment">;
  readonly logs: LogStore;
  readonly topics: Pick<TopicStore, "forgetEnvironment">;
  readonly deployments: Deployments;
  /** The files of datasets. */
  readonly datasets: { forget(environmentId: string, signal: AbortSignal): Promise<void> };
  /** What runs in the container engine, with its volumes. */
  readonly containers: { forget(environmentId: string): Promise<void> };
  /** What waits to be told to webhooks. */
  readonly deliveries: { forget(environmentId: string): Promise<void> };
  /** Id of this node. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Milliseconds in which every other node has heard of a removal, and a node counts as gone. */
const HEARD_MS = 35_000;
const GONE_MS = 60_000;

/** The handler of ERASURE_JOB jobs. */
export function createErasure(options: ErasureOptions): JobHandler {
  const {
    metadata,
    objects,
    online,
    telemetry,
    metrics,
    logs,
    topics,
    sinks,
    deployments,
    datasets,
    containers,
    deliveries,
    node,
    clock,
    log,
  } = options;
  return {
    async run({ payload }, { signal, progress }) {
      const { environmentId } = payload as { readonly environmentId: string };
      progress("waiting for running queries");
      await deployments.halt(environmentId);
      const others = (await metadata.nodes.list(GONE_MS)).filter(({ id }) => id !== node);
      if (others.length > 0) await clock.sleep(HEARD_MS + DRAIN_GRACE_MS, signal);
      await containers.forget(environmentId);
      await sinks.flush();
      const { bundles, featureIds } = await metadata.contents(environmentId);
      progress("removing stored values");
      await online.dropFeatures(featureIds, signal);
      signal.throwIfAborted();
      const series = await metadata.series.list(environmentId);
      if (series.length > 0)
        await (await options.tiles()).dropSeries(
          series.map(({ id }) => id),
          signal,
        );
      signal.throwIfAborted();
      progress("removing history");
      const offline = await options.offline();
      for (const featureId of featureIds) {
        await offline.dropVersion(featureId);
        signal.throwIfAborted();
      }
      progress("removing datasets, logs and bundles");
      await datasets.forget(environmentId, signal);
      await telemetry.forgetEnvironment(environmentId);
      await metrics.forgetEnvironment(environmentId);
      await logs.forgetEnvironment(environmentId);
      await topics.forgetEnvironment(environmentId);
      await deliveries.forget(environmentId);
      for (const bundle of bundles) await objects.delete(bundle);
      await metadata.streams.forget(environmentId);
      await metadata.eraseEnvironment(environmentId);
      log.info("an environment was erased", { environment: environmentId, features: featureIds.length });
    },

    async giveUp({ payload }, reason) {
      log.error("an environment that was removed could not be erased", { ...(payload as object), reason });
    },
  };
}
