/** The topics of a Kafka cluster, by a client in a thread of its own. */

import { Thread } from "../thread/rpc.ts";
import { unlessAborted } from "../unless-aborted.ts";
import type { Fetched, KafkaClient } from "./kafka-client.ts";
import type { KafkaCluster } from "./kafka-settings.ts";
import { checkMessages } from "./limits.ts";
import { decodeMessages, encodeMessages } from "./message-frame.ts";
import { partitionOf } from "./partitioner.ts";
import { type ReadPosition, TopicError, type TopicErrorCode, type TopicMessage, type Topics } from "./topics.ts";

/** Connects with a cluster on first use. */
export function createKafkaTopics(cluster: KafkaCluster): Topics {
  const thread = new Thread<KafkaClient, KafkaCluster>({
    entry: "topics/cluster-worker.ts",
    settings: cluster,
    revive: ({ name, message, fields }) =>
      name === "TopicError"
        ? new TopicError(fields.code as TopicErrorCode, message)
        : new TopicError("unavailable", `The client of Kafka failed: ${message}`),
    ended: (reason) => new TopicError("unavailable", `The client of Kafka ended: ${reason}`),
  });
  let turn = 0;
  let isClosed = false;

  return {
    async describe(topic) {
      return thread.call("describe", [topic]);
    },

    async offsetsAt(topic, time) {
      return thread.call("offsets", [topic, BigInt(Math.max(0, Math.trunc(time)))]);
    },

    async read(topic, positions, { maxMessages, maxBytes, waitMs, signal }) {
      const until = performance.now() + waitMs;
      const start = positions.length === 0 ? 0 : turn++ % positions.length;
      let asked: readonly ReadPosition[] = [...positions.slice(start), ...positions.slice(0, start)];
      for (;;) {
        if (signal.aborted || isClosed) return { messages: [], lost: [] };
        const left = Math.max(0, until - performance.now());
        const fetched = await unlessAborted(thread.call("fetch", [topic, asked, maxMessages, maxBytes, left]), signal);
        if (!fetched) return { messages: [], lost: [] };
        if (fetched.found.length > 0 || fetched.lost.length > 0 || left === 0) return { messages: messagesOf(fetched), lost: fetched.lost };
        asked = asked.map((one) => fetched.next.find(({ partition }) => partition === one.partition) ?? one);
      }
    },

    async push(topic, messages, signal) {
      checkMessages(topic, messages);
      if (signal?.aborted) throw new TopicError("unavailable", `The push to '${topic}' was given up before anything was sent.`);
      if (messages.length === 0) return [];
      const count = await thread.call("partitions", [topic]);
      const keyless = turn++ % count;
      const partitions = Int32Array.from(
        messages,
        ({ partition, key }) => partition ?? (key === undefined ? keyless : partitionOf(key, count)),
      );
      const frame = encodeMessages(messages);
      const pushing = thread.call("push", [topic, frame, partitions], [frame.buffer as ArrayBuffer]);
      const offsets = await (signal ? unlessAborted(pushing, signal) : pushing);
      if (!offsets) throw new TopicError("unavailable", `The push to '${topic}' was given up, and it is not known whether it stands.`);
      return messages.map((_, index) => ({ partition: partitions[index] ?? 0, offset: offsets[index] ?? 0n }));
    },

    async close() {
      isClosed = true;
      await thread.close().catch(() => undefined);
    },
  };
}

function messagesOf({ found }: Fetched): TopicMessage[] {
  return found.flatMap(({ partition, offsets, timestamps, frame }) =>
    decodeMessages(frame).map((content, index) => ({
      ...{ partition, offset: offsets[index] ?? 0n, timestamp: timestamps[index] ?? 0 },
      ...content,
    })),
  );
}
