/**
 * Connections with Kafka brokers, bounded in time, in what a broker may send at once, and in what
 * it may have this program compute. For the threads that load the client.
 */

import { isIP } from "node:net";
import { Connection, type SASLOptions, saslPlain, saslScramSha } from "@platformatic/kafka";
import type { KafkaAccess, KafkaAddress } from "./kafka-settings.ts";

/** Bounds of a connection. */
export interface ConnectionBounds {
  /** Milliseconds for connecting, and for each answer. */
  readonly stepMs: number;
  /** Most bytes that a broker may send until `forgive` is called. */
  readonly maxBytes: number;
}

/** An open connection. */
export interface BrokerConnection {
  readonly connection: Connection;
  /** Whether it was cut off because the broker sent too much. */
  readonly isFlooded: boolean;
  /** Begins counting what the broker sends anew. */
  forgive(): void;
  close(): void;
}

/** Most rounds of hashing that a broker may ask for; Kafka itself allows 16,384. */
const MAX_ITERATIONS = 100_000;

/**
 * Connects with a broker, and logs in. Rejects with the client's errors; `onFlood` is told before.
 */
export async function connectBroker(
  { host, port }: KafkaAddress,
  { usesTls, authorities, sasl }: KafkaAccess,
  { stepMs, maxBytes }: ConnectionBounds,
  onFlood: () => void = () => undefined,
): Promise<BrokerConnection> {
  const connection = new Connection("svc", {
    connectTimeout: stepMs,
    requestTimeout: stepMs,
    ...(usesTls && {
      tls: { rejectUnauthorized: true, ...(authorities !== undefined && { ca: authorities }) },
      tlsServerName: isIP(host) === 0,
    }),
    ...(sasl && { sasl: { ...sasl, authenticate } }),
  });
  connection.on("error", () => undefined);
  const close = (): void => void connection.socket?.destroy();
  let received = 0;
  let isFlooded = false;
  try {
    const connecting = connection.connect(host, port);
    connection.socket.on("data", (chunk: Uint8Array) => {
      received += chunk.length;
      if (received <= maxBytes || isFlooded) return;
      isFlooded = true;
      onFlood();
      connection.socket.destroy();
    });
    await connecting;
  } catch (error) {
    close();
    throw error;
  }
  return {
    connection,
    get isFlooded() {
      return isFlooded;
    },
    forgive() {
      received = 0;
    },
    close,
  };
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
