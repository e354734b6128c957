/** Resolvers of topics: how callers see them, and the reading of this node. */

import type { Clock } from "../../context/clock.ts";
import type { DeletedValues } from "../deletions/deleted-values.ts";
import type { Deployments } from "../deployments/deployments.ts";
import type { Bus } from "../jobs/bus.ts";
import type { Log } from "../log.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { OfflineStore } from "../stores/offline/store.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import type { TileStore } from "../stores/tiles/store.ts";
import type { Homes } from "../topics/homes.ts";
import { createUploadDeployments } from "../value-uploads/upload-deployment.ts";
import { LiveStreams, type TopicOpener } from "./live-streams.ts";
import type { StatementEngine } from "./statement-body.ts";
import { createStepDeployments } from "./step-deployments.ts";
import { type StreamRunner, type StreamStop, startStreamRunner } from "./stream-runner.ts";
import { createStreams, type Streams } from "./streams.ts";

/** The capability, and what reads on this node. */
export interface StreamCapabilities {
  readonly streams: Streams;
  /** Starts to read. */
  start(): StreamRunner;
}

/** What they need. */
export interface StreamCapabilitiesParts {
  readonly metadata: Pick<MetadataStore, "environments" | "featureIdentities" | "nodes" | "series" | "streams">;
  readonly deployments: Deployments;
  readonly online: Pick<OnlineStore, "dropped" | "flush" | "put">;
  readonly offline: () => Promise<Pick<OfflineStore, "append">>;
  readonly deleted: DeletedValues;
  readonly tiles: () => Promise<TileStore>;
  /** Computes streams that are statements. */
  readonly tables: () => Promise<StatementEngine>;
  readonly open: TopicOpener;
  /** The nodes that have the server's own topics, and the positions of streams. */
  readonly homes: { readonly topics: Homes; readonly streams: Homes };
  readonly metrics: MetricRecorder;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly node: string;
  /** Tells webhooks of a stream that was stopped; the same when it is called again. */
  readonly tellStopped: (stopped: StreamStop) => Promise<void>;
  /** Whether writing to the stores is suspended. */
  readonly isSuspended: () => boolean;
}

/** Dead letters are kept for this long, in milliseconds. */
export const LETTERS_KEPT_MS = 7 * 86_400_000;

/** Makes them. Nothing is read yet. */
export function createStreamCapabilities(parts: StreamCapabilitiesParts): StreamCapabilities {
  const { bus, clock, deleted, deployments, homes, metadata, offline, online, open, tiles } = parts;
  const now = () => clock.now();
  const live = new LiveStreams({ metadata, deployments });
  const stepOf = createStepDeployments({
    ...{ deployments, series: metadata.series, tables: parts.tables },
    deploymentOf: createUploadDeployments({ metadata, graphOf: (id) => deployments.graph(id), now }),
    writer: { online, offline, deleted, now },
  });
  return {
    streams: createStreams({ ...{ live, open, homes: homes.streams, tiles, stepOf, bus, now }, streams: metadata.streams }),
    start: () => startStreamRunner({ ...parts, live, stepOf }),
  };
}
