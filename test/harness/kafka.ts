/**
 * A real Kafka for tests: one node in KRaft mode in a temporary folder, with a listener for each
 * security protocol on a free port, stopped by its process id.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Leaf } from "./authority.ts";
import { freePort } from "./free-port.ts";
import { lacks, programPath } from "./needs.ts";

/** Where `.ci/install` puts the jars of `kafka/pom.xml`. */
const JARS = process.env.SVC_TEST_KAFKA ?? join(process.env.HOME ?? "", ".cache/svc-test/kafka");
const USER = "tester";
const PASSWORD = "s3cret-of-test";
const LONGEST_START_MS = 120_000;
const POLL_MS = 50;
const LOG_LEVEL = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error";
const PROTOCOLS = { PLAINTEXT: "plain", SASL_PLAINTEXT: "sasl", SSL: "tls", SASL_SSL: "sasltls" } as const;

/** A running broker. */
export interface TestKafka {
  /** `host:port` by security protocol. Those with SASL take PLAIN and both kinds of SCRAM. */
  readonly brokers: Readonly<Record<keyof typeof PROTOCOLS, string>>;
  readonly clusterId: string;
  readonly user: string;
  readonly password: string;
  /** Kills the broker, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again, at the same addresses. */
  restart(): Promise<void>;
  /** Stops the broker and removes its files. */
  stop(): Promise<void>;
}

/** Whether Java or the jars are absent: see `lacks`. */
export const lacksKafka = (): boolean => lacks("Kafka", programPath("java") !== undefined && existsSync(JARS));

/** Starts a broker, whose certificate is for `localhost`. */
export async function startKafka({ cert, key }: Leaf): Promise<TestKafka> {
  const root = mkdtempSync(join(tmpdir(), "svc-kafka-"));
  const log = join(root, "log");
  // In base64, with a first letter that no option begins with.
  const clusterId = `A${Buffer.from(crypto.getRandomValues(new Uint8Array(16)))
    .toString("base64url")
    .slice(1)}`;
  const ports = await Promise.all([...Object.keys(PROTOCOLS), "CONTROLLER"].map(() => freePort()));
  const listeners = Object.entries(PROTOCOLS).map(([protocol, name], n) => ({ protocol, name: name.toUpperCase(), port: ports[n] }));
  const controller = ports.at(-1);
  const pem = (text: string): string => text.trim().replaceAll("\n", "\\n");
  const scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;";
  const plain = `org.apache.kafka.common.security.plain.PlainLoginModule required user_${USER}="${PASSWORD}";`;
  const settings = [
    "process.roles=broker,controller",
    "node.id=1",
    `controller.quorum.voters=1@127.0.0.1:${controller}`,
    "controller.listener.names=CONTROLLER",
    `listeners=${listeners.map(({ name, port }) => `${name}://localhost:${port}`).join(",")},CONTROLLER://127.0.0.1:${controller}`,
    `advertised.listeners=${listeners.map(({ name, port }) => `${name}://localhost:${port}`).join(",")}`,
    `listener.security.protocol.map=${listeners.map(({ name, protocol }) => `${name}:${protocol}`).join(",")},CONTROLLER:PLAINTEXT`,
    "inter.broker.listener.name=PLAIN",
    // One node has all replicas, and groups need not wait for more members.
    "offsets.topic.replication.factor=1",
    "offsets.topic.num.partitions=1",
    "transaction.state.log.replication.factor=1",
    "transaction.state.log.min.isr=1",
    "transaction.state.log.num.partitions=1",
    "group.initial.rebalance.delay.ms=0",
    "auto.create.topics.enable=false",
    `log.dirs=${join(root, "data")}`,
    "ssl.keystore.type=PEM",
    `ssl.keystore.certificate.chain=${pem(cert)}`,
    `ssl.keystore.key=${pem(key)}`,
    ...["sasl", "sasltls"].flatMap((name) => [
      `listener.name.${name}.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512`,
      `listener.name.${name}.plain.sasl.jaas.config=${plain}`,
      `listener.name.${name}.scram-sha-256.sasl.jaas.config=${scram}`,
      `listener.name.${name}.scram-sha-512.sasl.jaas.config=${scram}`,
    ]),
  ];
  const file = join(root, "server.properties");
  writeFileSync(file, `${settings.join("\n")}\n`, { mode: 0o600 });
  const java = (...words: string[]) => {
    const out = Bun.file(log);
    const flags = ["-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", LOG_LEVEL, "-cp", `${JARS}/*`];
    return Bun.spawn(["java", ...flags, ...words], { cwd: root, stdin: "ignore", stdout: out, stderr: out });
  };
  const said = (why: string) => new Error(`Kafka ${why}:\n${readFileSync(log, "utf8").slice(-4_000)}`);
  const users = ["SCRAM-SHA-256", "SCRAM-SHA-512"].flatMap((kind) => ["--add-scram", `${kind}=[name=${USER},password=${PASSWORD}]`]);
  if ((await java("kafka.tools.StorageTool", "format", "-t", clusterId, "-c", file, ...users).exited) !== 0) throw said("has no storage");
  let broker = java("kafka.Kafka", file);
  const kill = async (): Promise<void> => {
    broker.kill("SIGKILL");
    await broker.exited;
  };
  const stop = async (): Promise<void> => {
    await kill();
    rmSync(root, { recursive: true, force: true });
  };
  const answers = async (): Promise<void> => {
    for (let waited = 0; !(await areOpen(listeners.map(({ port }) => Number(port)))); waited += POLL_MS) {
      if (broker.exitCode === null && waited < LONGEST_START_MS) {
        await Bun.sleep(POLL_MS);
        continue;
      }
      const error = said(broker.exitCode === null ? "does not start" : "has ended");
      await stop();
      throw error;
    }
  };
  const restart = async (): Promise<void> => {
    await kill();
    broker = java("kafka.Kafka", file);
    await answers();
  };
  await answers();
  const brokers = Object.fromEntries(listeners.map(({ protocol, port }) => [protocol, `localhost:${port}`])) as TestKafka["brokers"];
  return { brokers, clusterId, user: USER, password: PASSWORD, kill, restart, stop };
}

/** Whether somebody listens on all of the ports. */
async function areOpen(ports: readonly number[]): Promise<boolean> {
  const opened = ports.map(async (port) => {
    const socket = await Bun.connect({ hostname: "localhost", port, socket: { data: () => undefined } });
    socket.end();
  });
  return (await Promise.allSettled(opened)).every(({ status }) => status === "fulfilled");
}
