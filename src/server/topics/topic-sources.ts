/**
 * The topics that sources of a project mean. A source takes its settings from the environment's
 * integration of its name, else from the server's environment, else from code; Kafka clusters are
 * connected on first use, shared by all who mean the same one, and left when nobody did for a
 * while.
 */

import { type DataSource, SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { environmentPrefix, INTEGRATION_KINDS, integrationProblem, type Variables } from "../../domain/integrations.ts";
import type { EmbeddedTopics } from "./embedded.ts";
import { type Homes, nodeText } from "./homes.ts";
import { type KafkaCluster, readKafkaCluster } from "./kafka-settings.ts";
import { TopicError, type Topics } from "./topics.ts";

/** An integration of an environment, as far as topics need it. */
export interface TopicIntegration {
  readonly name: string;
  readonly kind: string;
  readonly variables: Variables;
}

/** What topic sources need. */
export interface TopicSourcesOptions {
  readonly embedded: EmbeddedTopics;
  /** The nodes that have the server's own topics. */
  readonly homes: Homes;
  /** The integrations of an environment. */
  readonly integrations: (environmentId: string) => Promise<readonly TopicIntegration[]>;
  /** Environment variables of the server. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Partitions that the configuration of the server gives a topic at least; undefined = none. */
  readonly configuredPartitions: (topic: string) => number | undefined;
}

/** A topic that is in use until it is released. */
export interface TopicLease {
  readonly topics: Topics;
  /** Name of the topic there. */
  readonly topic: string;
  /** Ends the use; called once. */
  release(): void;
}

/** Topics by their sources. */
export interface TopicSources {
  /**
   * Uses the topic of a source. A topic of the server is made when it is not there, and given the
   * partitions that code or configuration says. Rejects with TopicError.
   */
  open(environmentId: string, source: Pick<DataSource, "name" | "kind" | "settings">): Promise<TopicLease>;
  /** Uses a topic by the integration with its Kafka cluster. Rejects with TopicError. */
  openByIntegration(environmentId: string, integration: string, topic: string): Promise<TopicLease>;
  /** Uses a topic of the server, which is made only when the configuration names it. */
  openEmbedded(environmentId: string, topic: string): Promise<TopicLease>;
  /** Names of the server's own topics of an environment. */
  embeddedNames(environmentId: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** Kinds of sources that are topics. */
export const TOPIC_KINDS: ReadonlySet<SourceKind> = new Set([SourceKind.KAFKA, SourceKind.TOPIC]);

/** Milliseconds for which a cluster that nobody uses stays connected. */
const LINGER_MS = 60_000;
/** Settings in code by the variable that says the same. */
const SETTINGS: Readonly<Record<string, string>> = {
  KAFKA_BOOTSTRAP_SERVERS: "bootstrap_servers",
  KAFKA_SECURITY_PROTOCOL: "security_protocol",
  KAFKA_SASL_MECHANISM: "sasl_mechanism",
  KAFKA_SASL_USERNAME: "sasl_username",
  KAFKA_SSL_CA: "ssl_ca",
};

/** A cluster that is connected. */
interface Connected {
  readonly topics: Promise<Topics>;
  users: number;
  leaving: ReturnType<typeof setTimeout> | undefined;
}

/** Makes the capability. Nothing is connected yet. */
export function createTopicSources({ embedded, homes, integrations, env, configuredPartitions }: TopicSourcesOptions): TopicSources {
  const clusters = new Map<string, Connected>();
  const endings = new Set<Promise<unknown>>();

  const leave = (key: string, connected: Connected): void => {
    clusters.delete(key);
    const ending = connected.topics.then((topics) => topics.close()).catch(() => undefined);
    endings.add(ending);
    void ending.finally(() => endings.delete(ending));
  };
  const connect = async (cluster: KafkaCluster, topic: string): Promise<TopicLease> => {
    const key = JSON.stringify(cluster);
    let connected = clusters.get(key);
    if (!connected) {
      connected = {
        topics: import("./kafka.ts").then(({ createKafkaTopics }) => createKafkaTopics(cluster)),
        users: 0,
        leaving: undefined,
      };
      clusters.set(key, connected);
    }
    const mine = connected;
    clearTimeout(mine.leaving);
    mine.users++;
    const topics = await mine.topics;
    return {
      topics,
      topic,
      release() {
        mine.users--;
        if (mine.users > 0) return;
        mine.leaving = setTimeout(() => leave(key, mine), LINGER_MS);
        mine.leaving.unref();
      },
    };
  };
  const ofServer = async (environmentId: string, topic: string, partitions: number | undefined): Promise<TopicLease> => {
    const wanted = Math.max(partitions ?? 0, configuredPartitions(topic) ?? 0);
    const other = await (wanted > 0 ? homes.claim(environmentId, topic) : homes.find(environmentId, topic));
    if (other)
      throw new TopicError(
        other.url === undefined ? "unavailable" : "elsewhere",
        `The topic '${topic}' lies with ${nodeText(other)}: ${other.url === undefined ? "start that one again" : "ask there"}.`,
      );
    if (wanted > 0) await embedded.ensure(environmentId, topic, wanted);
    return { topics: embedded.of(environmentId), topic, release: () => undefined };
  };

  return {
    async open(environmentId, { name, kind, settings }) {
      const { topic = name } = settings;
      if (kind === SourceKind.TOPIC) return ofServer(environmentId, topic, Number(settings.partitions ?? 1));
      if (kind !== SourceKind.KAFKA) throw new TopicError("refused", `The source '${name}' is a database, and no topic.`);
      const prefix = environmentPrefix(name);
      const integration = (await integrations(environmentId)).find((one) => environmentPrefix(one.name) === prefix);
      if (integration && integration.kind !== "kafka")
        throw new TopicError(
          "refused",
          `The source '${name}' is a topic of Kafka in the project, and the integration of that name is ${integration.kind}.`,
        );
      const given = (variable: string) => (integration ? integration.variables[variable] : env[`${prefix}_${variable}`]) || undefined;
      const variables: Record<string, string> = {};
      for (const { name: variable } of INTEGRATION_KINDS.kafka) {
        const value = given(variable) ?? settings[SETTINGS[variable] ?? ""];
        if (value) variables[variable] = value;
      }
      const problem = integrationProblem("kafka", "kafka", variables);
      if (problem !== undefined)
        throw new TopicError(
          "refused",
          `The source '${name}' cannot be used: ${problem} Settings come from the integration '${name}' (\`svc integration apply\`), from the server's environment (${prefix}_KAFKA_BOOTSTRAP_SERVERS and so on), or from code.`,
        );
      return connect(readKafkaCluster(variables), topic);
    },

    async openByIntegration(environmentId, wanted, topic) {
      const all = (await integrations(environmentId)).filter(({ kind }) => kind === "kafka");
      const integration = all.find(({ name }) => name === wanted);
      if (!integration)
        throw new TopicError(
          "missing",
          `There is no integration '${wanted}' with a Kafka cluster; there is ${all.map(({ name }) => name).join(", ") || "none"}. \`svc integration apply\` makes one.`,
        );
      return connect(readKafkaCluster(integration.variables), topic);
    },

    embeddedNames: async (environmentId) => (await embedded.list(environmentId)).map(({ topic }) => topic),

    openEmbedded: (environmentId, topic) => ofServer(environmentId, topic, undefined),

    async close() {
      for (const [key, connected] of clusters) {
        clearTimeout(connected.leaving);
        leave(key, connected);
      }
      await Promise.all(endings);
    },
  };
}
