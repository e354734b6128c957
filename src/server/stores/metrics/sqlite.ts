/** The store of metrics in one SQLite file that a worker thread owns. */

import type { Clock } from "../../../context/clock.ts";
import { Thread } from "../../thread/rpc.ts";
import { fromColumns } from "./answer-columns.ts";
import type { MetricDatabase, MetricFile } from "./database.ts";
import type { MetricEvents } from "./metrics-worker.ts";
import type { MetricLimits, MetricStore } from "./store.ts";

/** Options with which the store is opened. */
export interface MetricOptions extends Pick<MetricFile, "path" | "programVersion">, Partial<Pick<MetricFile, "maxBytes" | "maxAgeMs">> {
  readonly clock: Clock;
  /**
   * Called when a damaged file was set aside and replaced by an empty one: the damage, and its new
   * path.
   */
  readonly onRenewal?: (reason: string, kept: string) => void;
  /** Called for errors that no caller waits for. */
  readonly onError?: (error: unknown) => void;
}

const MEBIBYTE = 1024 * 1024;
const YEAR_MS = 366 * 86_400_000;

/** Makes the store. The thread is started and the file opened with the first call. */
export function createSqliteMetricStore(options: MetricOptions): MetricStore {
  const { clock, path, programVersion, maxBytes = 512 * MEBIBYTE, maxAgeMs = YEAR_MS } = options;
  /** The bounds that were set, for a file that is begun anew. */
  let limited: MetricLimits | undefined;
  const thread = new Thread<MetricDatabase, MetricFile, MetricEvents>({
    entry: "stores/metrics/metrics-worker.ts",
    settings: { path, programVersion, maxBytes, maxAgeMs },
    listeners: {
      renewed(reason, kept) {
        options.onRenewal?.(reason, kept);
        if (limited) void thread.call("limit", [limited, clock.now()]).catch((error: unknown) => options.onError?.(error));
      },
    },
    ended: (reason) => new Error(`the thread of metrics ended: ${reason}`),
  });
  return {
    append: (rows) => thread.call("append", [rows]),
    read: async (selection, more) => fromColumns(await thread.call("readColumns", [selection, more])),
    exemplars: (selection) => thread.call("exemplars", [selection]),
    labelValues: (wanted) => thread.call("labelValues", [wanted]),
    addFeatureStats: (stats) => thread.call("addFeatureStats", [stats]),
    featureStats: (of, more) => thread.call("featureStats", [of, more]),
    featuresWithStats: (of) => thread.call("featuresWithStats", [of]),
    thin: (now) => thread.call("thin", [now]),
    forgetEnvironment: (environmentId) => thread.call("forgetEnvironment", [environmentId]),
    figures: () => thread.call("figures", []),
    limit(limits) {
      limited = limits;
      return thread.call("limit", [limits, clock.now()]);
    },
    probe: () => thread.call("probe", []),
    close: () => thread.close(),
  };
}
