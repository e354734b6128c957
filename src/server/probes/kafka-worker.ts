/**
 * Worker thread that asks a Kafka broker for its cluster. The client is loaded here alone, and what
 * a broker answers harms no more than this thread.
 */

import { metadataV9 } from "@platformatic/kafka";
import { serve } from "../thread/rpc.ts";
import { type BrokerConnection, connectBroker } from "../topics/kafka-connection.ts";
import { reasonOf } from "../topics/kafka-fault.ts";
import type { KafkaAccess, KafkaAddress } from "../topics/kafka-settings.ts";

/** What a broker tells of its cluster. */
export interface KafkaAnswer {
  readonly clusterId: string;
  readonly brokers: number;
}

/** Why a broker did not tell. */
export interface KafkaFault {
  /** A phrase that follows the broker's address. */
  readonly reason: string;
}

/** The asker that the thread serves. */
export interface KafkaAsker {
  ask(broker: KafkaAddress, access: KafkaAccess): Promise<KafkaAnswer | KafkaFault>;
}

/** Milliseconds for a connection, and for each answer. */
const STEP_MS = 4_000;
/** Most bytes that a broker may send. */
const MAX_BYTES = 1024 * 1024;

serve<KafkaAsker, null>({ make: () => ({ ask }), close: () => undefined });

async function ask(broker: KafkaAddress, access: KafkaAccess): Promise<KafkaAnswer | KafkaFault> {
  let isFlooded = false;
  let opened: BrokerConnection | undefined;
  try {
    opened = await connectBroker(broker, access, { stepMs: STEP_MS, maxBytes: MAX_BYTES }, () => {
      isFlooded = true;
    });
    // No topics, and none is to be made.
    const { clusterId, brokers } = await metadataV9.api.async(opened.connection, [], false, false, false);
    return { clusterId: clusterId ?? "", brokers: brokers.length };
  } catch (error) {
    return { reason: isFlooded ? `answered more than ${MAX_BYTES / 1024} KiB` : reasonOf(error, access) };
  } finally {
    opened?.close();
  }
}
