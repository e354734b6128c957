/** The test of a Kafka cluster. */

import { X509Certificate } from "node:crypto";
import type { Variables } from "../../domain/integrations.ts";
import { Thread } from "../thread/rpc.ts";
import type { KafkaAsker, KafkaBroker, KafkaSasl } from "./kafka-worker.ts";
import type { Probe } from "./probe-result.ts";
import { ProbeFailed } from "./web-call.ts";

/** Brokers whose reasons are told when none answers. */
const MAX_REASONS = 3;

/**
 * Apache Kafka 2.4 or newer, and what speaks its protocol. Brokers are asked until one answers;
 * addresses that they name are not called.
 */
export const kafkaProbe: Probe = async (variables, { signal }) => {
  const settings = settingsOf(variables);
  const thread = new Thread<KafkaAsker, null>({
    entry: "probes/kafka-worker.ts",
    settings: null,
    ended: () => new ProbeFailed("answered as no broker of Kafka does"),
  });
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  aborted.catch(() => undefined);
  const reasons: string[] = [];
  try {
    signal.throwIfAborted();
    for (const { host, port } of brokersOf(variables)) {
      const address = `${host.includes(":") ? `[${host}]` : host}:${port}`;
      try {
        const answer = await Promise.race([thread.call("ask", [{ ...settings, host, port }]), aborted]);
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

/** How all brokers are spoken to. Throws ProbeFailed for variables that would not act. */
function settingsOf(variables: Variables): Omit<KafkaBroker, "host" | "port"> {
  const protocol = variables.KAFKA_SECURITY_PROTOCOL ?? "PLAINTEXT";
  const usesTls = protocol.endsWith("SSL");
  const { KAFKA_SSL_CA: authorities } = variables;
  if (authorities !== undefined && !usesTls)
    throw new ProbeFailed(`KAFKA_SSL_CA is for the security protocols SSL and SASL_SSL, and KAFKA_SECURITY_PROTOCOL is ${protocol}`);
  if (authorities !== undefined && !isCertificate(authorities)) throw new ProbeFailed("KAFKA_SSL_CA has no certificate in PEM");
  return { usesTls, authorities, sasl: saslOf(variables, protocol) };
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
    throw new ProbeFailed(`${idle} is for the security protocols SASL_PLAINTEXT and SASL_SSL, and KAFKA_SECURITY_PROTOCOL is ${protocol}`);
  }
  const absent = names.find((name) => (variables[name] ?? "") === "");
  if (absent !== undefined) throw new ProbeFailed(`KAFKA_SECURITY_PROTOCOL is ${protocol}, which needs ${absent}`);
  const [mechanism, username, password] = names.map((name) => variables[name] ?? "");
  return { mechanism, username, password } as KafkaSasl;
}

function brokersOf({ KAFKA_BOOTSTRAP_SERVERS: list = "" }: Variables): { readonly host: string; readonly port: number }[] {
  return list.split(",").map((broker) => {
    const at = broker.lastIndexOf(":");
    const host = broker
      .slice(0, at)
      .trim()
      .replace(/^\[|\]$/g, "");
    return { host, port: Number(broker.slice(at + 1)) };
  });
}
