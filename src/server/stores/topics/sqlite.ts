/** The store of topics in one SQLite file that a worker thread owns. */

import type { Clock } from "../../../context/clock.ts";
import { Thread } from "../../thread/rpc.ts";
import type { TopicsDatabase, TopicsFile } from "./database.ts";
import { type TopicLimits, type TopicStore, TopicStoreError } from "./store.ts";

/** Makes the store. The thread is started and the file opened with the first call. */
export function createSqliteTopicStore({ clock, ...file }: TopicsFile & { readonly clock: Clock }): TopicStore {
  const thread = new Thread<TopicsDatabase, TopicsFile>({
    entry: "stores/topics/topics-worker.ts",
    settings: file,
    revive: ({ name, message, fields }) =>
      name === "TopicStoreError"
        ? new TopicStoreError(fields.code as TopicStoreError["code"], message)
        : Object.assign(new Error(message), fields),
    ended: (reason) => new Error(`the thread of the topics ended: ${reason}`),
  });
  let limits: TopicLimits = { retentionMs: {} };
  return {
    ensure: (place, partitions) => thread.call("ensure", [place, partitions]),
    topics: (environmentId) => thread.call("topics", [environmentId]),
    ends: (place) => thread.call("ends", [place]),
    offsetsAt: (place, time) => thread.call("offsetsAt", [place, time]),
    append: (place, batches) => thread.call("append", [place, batches, clock.now()]),
    read: (place, positions, { maxMessages, maxBytes }) => thread.call("read", [place, positions, maxMessages, maxBytes]),
    forgetEnvironment: (environmentId) => thread.call("forgetEnvironment", [environmentId]),
    limit(wanted) {
      limits = wanted;
      return Promise.resolve();
    },
    async prune(signal) {
      while (!signal?.aborted && (await thread.call("prune", [limits, clock.now()])));
    },
    figures: () => thread.call("figures", []),
    probe: () => thread.call("probe", []),
    close: () => thread.close(),
  };
}
