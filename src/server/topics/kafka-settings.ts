/** The settings of a Kafka cluster, from the variables of an integration. */

import { X509Certificate } from "node:crypto";
import type { Variables } from "../../domain/integrations.ts";
import { TopicError } from "./topics.ts";

/** How the brokers of a cluster are spoken to. */
export interface KafkaAccess {
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

/** Where a broker listens. */
export interface KafkaAddress {
  readonly host: string;
  readonly port: number;
}

/** A cluster. */
export interface KafkaCluster extends KafkaAccess {
  /** Brokers that tell of the others. */
  readonly brokers: readonly KafkaAddress[];
}

/**
 * Reads the settings from variables whose form is right: see `integrationProblem`. Throws
 * TopicError refused for those that would not act.
 */
export function readKafkaCluster(variables: Variables): KafkaCluster {
  const protocol = variables.KAFKA_SECURITY_PROTOCOL ?? "PLAINTEXT";
  const usesTls = protocol.endsWith("SSL");
  const { KAFKA_SSL_CA: authorities } = variables;
  if (authorities !== undefined && !usesTls)
    throw refused(`KAFKA_SSL_CA is for the security protocols SSL and SASL_SSL, and KAFKA_SECURITY_PROTOCOL is ${protocol}`);
  if (authorities !== undefined && !isCertificate(authorities)) throw refused("KAFKA_SSL_CA has no certificate in PEM");
  return { brokers: brokersOf(variables), usesTls, authorities, sasl: saslOf(variables, protocol) };
}

/** An address as text. */
export function addressText({ host, port }: KafkaAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).publicKey !== undefined;
  } catch {
    return false;
  }
}

function saslOf(variables: Variables, protocol: string): KafkaSasl | undefined {
  const names = ["KAFKA_SASL_MECHANISM", "KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD"] as const;
  if (!protocol.startsWith("SASL_")) {
    const idle = names.find((name) => variables[name] !== undefined);
    if (idle === undefined) return undefined;
    throw refused(`${idle} is for the security protocols SASL_PLAINTEXT and SASL_SSL, and KAFKA_SECURITY_PROTOCOL is ${protocol}`);
  }
  const absent = names.find((name) => (variables[name] ?? "") === "");
  if (absent !== undefined) throw refused(`KAFKA_SECURITY_PROTOCOL is ${protocol}, which needs ${absent}`);
  const [mechanism, username, password] = names.map((name) => variables[name] ?? "");
  return { mechanism, username, password } as KafkaSasl;
}

function brokersOf({ KAFKA_BOOTSTRAP_SERVERS: list = "" }: Variables): KafkaAddress[] {
  return list.split(",").map((broker) => {
    const at = broker.lastIndexOf(":");
    const host = broker
      .slice(0, at)
      .trim()
      .replace(/^\[|\]$/g, "");
    return { host, port: Number(broker.slice(at + 1)) };
  });
}

function refused(message: string): TopicError {
  return new TopicError("refused", message);
}
