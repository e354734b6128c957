/** The test of a Kafka cluster. */

import { Thread } from "../thread/rpc.ts";
import { addressText, readKafkaCluster } from "../topics/kafka-settings.ts";
import { unlessAborted } from "../unless-aborted.ts";
import type { KafkaAsker } from "./kafka-worker.ts";
import type { Probe } from "./probe-result.ts";
import { ProbeFailed } from "./web-call.ts";

/** Brokers whose reasons are told when none answers. */
const MAX_REASONS = 3;

/**
 * Apache Kafka 2.4 or newer, and what speaks its protocol. Brokers are asked until one answers;
 * addresses that they name are not called.
 */
export const kafkaProbe: Probe = async (variables, { signal }) => {
  const { brokers, ...access } = readKafkaCluster(variables);
  const thread = new Thread<KafkaAsker, null>({
    entry: "probes/kafka-worker.ts",
    settings: null,
    ended: () => new ProbeFailed("answered as no broker of Kafka does"),
  });
  const reasons: string[] = [];
  try {
    signal.throwIfAborted();
    for (const broker of brokers) {
      const address = addressText(broker);
      try {
        const answer = await unlessAborted(thread.call("ask", [broker, access]), signal);
        if (!answer) throw signal.reason;
        if (!("reason" in answer))
          return {
            status: "ok",
            message: `${address} belongs to the cluster ${answer.clusterId || "without an id"}, brokers: ${answer.brokers}`,
          };
        reasons.push(`${address} ${answer.reason}`);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ProbeFailed)) throw error;
        reasons.push(`${address} ${error.message}`);
      }
    }
  } finally {
    await thread.terminate();
  }
  throw new ProbeFailed(reasons.slice(0, MAX_REASONS).join("; "));
};
