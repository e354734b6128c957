/**
 * Worker thread that asks a Kafka broker for its cluster. The client is loaded here alone, and what
 * a broker answers harms no more than this thread.
 */

import { isIP } from "node:net";
import { Connection, metadataV9, type SASLOptions, saslPlain, saslScramSha } from "@platformatic/kafka";
import { serve } from "../thread/rpc.ts";
import { reasonOf } from "./kafka-fault.ts";

/** One broker, and how it is spoken to. */
export interface KafkaBroker {
  readonly host: string;
  readonly port: number;
  readonly usesTls: boolean;
  /** Certificate authorities in PEM; undefined = the system's. */
  readonly authorities: string | undefined;
  readonly sasl: KafkaSasl | undefined;
}

/** Who the client says it is. */
export interface KafkaSasl {
  readonly mechanism: "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512";
  readonly username: string;
  readonly password: string;
}

/** What a broker tells of its cluster. */
export interface KafkaCluster {
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
  ask(broker: KafkaBroker): Promise<KafkaCluster | KafkaFault>;
}

/** Milliseconds for a connection, and for each answer. */
const STEP_MS = 4_000;
/** Most bytes that a broker may send. */
const MAX_BYTES = 1024 * 1024;
/** Most rounds of hashing that a broker may ask for; Kafka itself allows 16,384. */
const MAX_ITERATIONS = 100_000;

serve<KafkaAsker, null>({ make: () => ({ ask }), close: () => undefined });

async function ask(broker: KafkaBroker): Promise<KafkaCluster | KafkaFault> {
  const { host, port, usesTls, authorities, sasl } = broker;
  const connection = new Connection("svc", {
    connectTimeout: STEP_MS,
    requestTimeout: STEP_MS,
    ...(usesTls && {
      tls: { rejectUnauthorized: true, ...(authorities !== undefined && { ca: authorities }) },
      tlsServerName: isIP(host) === 0,
    }),
    ...(sasl && { sasl: { ...sasl, authenticate } }),
  });
  connection.on("error", () => undefined);
  let received = 0;
  try {
    const connecting = connection.connect(host, port);
    connection.socket.on("data", (chunk: Uint8Array) => {
      received += chunk.length;
      if (received > MAX_BYTES) connection.socket.destroy();
    });
    await connecting;
    // No topics, and none is to be made.
    const { clusterId, brokers } = await metadataV9.api.async(connection, [], false, false, false);
    return { clusterId: clusterId ?? "", brokers: brokers.length };
  } catch (error) {
    return { reason: received > MAX_BYTES ? `answered more than ${MAX_BYTES / 1024} KiB` : reasonOf(error, broker) };
  } finally {
    connection.socket?.destroy();
  }
}

/** The client's own authentication, with a bound on what a broker may have it compute. */
const authenticate: NonNullable<SASLOptions["authenticate"]> = (mechanism, connection, call, username, password, _token, callback) => {
  if (mechanism === "PLAIN") {
    saslPlain.authenticate(call, connection, username ?? "", password ?? "", callback);
    return;
  }
  const algorithm = mechanism === "SCRAM-SHA-512" ? "SHA-512" : "SHA-256";
  const bounded: typeof saslScramSha.defaultCrypto = {
    ...saslScramSha.defaultCrypto,
    hi: async (definition, secret, salt, iterations) => {
      if (iterations > MAX_ITERATIONS) throw new Error(`it asks for ${iterations} rounds of hashing, and ${MAX_ITERATIONS} are the most`);
      return saslScramSha.defaultCrypto.hi(definition, secret, salt, iterations);
    },
  };
  saslScramSha.authenticate(call, connection, algorithm, username ?? "", password ?? "", bounded, callback);
};
