/**
 * Which topic is meant by a name: that of a source of what is live, of an integration, or of the
 * server.
 */

import type { DataSource } from "../../../gen/svc/v1/graph_pb.ts";
import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import { didYouMean } from "../../domain/closest.ts";
import { TOPIC_KINDS, type TopicLease, type TopicSources } from "./topic-sources.ts";
import { TopicError } from "./topics.ts";

/** A topic that was found, in use until it is released. */
export interface TopicTarget extends TopicLease {
  /** Name of the source that means it; empty = none does. */
  readonly source: string;
  readonly kind: "kafka" | "server";
}

/** What a topic is looked for by. */
export interface TopicQuestion {
  readonly environmentId: string;
  readonly topic: string;
  /** Name of an integration; empty = none. */
  readonly integration: string;
  /** Sources of what is live; empty = nothing is. */
  readonly declared: readonly DataSource[];
}

/** Finds a topic. Rejects with TopicError: refused when the name is not clear. */
export async function findTopic(
  sources: TopicSources,
  { environmentId, topic, integration, declared }: TopicQuestion,
): Promise<TopicTarget> {
  if (integration !== "") return { ...(await sources.openByIntegration(environmentId, integration, topic)), source: "", kind: "kafka" };
  const meant = declared.filter((source) => TOPIC_KINDS.has(source.kind) && topicOf(source) === topic);
  const [first, another] = meant;
  if (first && another && meant.some(({ kind }) => kind !== SourceKind.TOPIC))
    throw new TopicError(
      "refused",
      `The sources ${meant.map(({ name }) => `'${name}'`).join(" and ")} have a topic '${topic}' each: name the integration of the one that is meant.`,
    );
  if (!first) return { ...(await sources.openEmbedded(environmentId, topic)), source: "", kind: "server" };
  return {
    ...(await sources.open(environmentId, first)),
    source: first.name,
    kind: first.kind === SourceKind.KAFKA ? "kafka" : "server",
  };
}

/** Topics of the environment whose names are near, as a question; empty = none are. */
export async function nearTopics(sources: TopicSources, { declared, environmentId, topic }: TopicQuestion): Promise<string> {
  const named = declared.filter(({ kind }) => TOPIC_KINDS.has(kind)).map(topicOf);
  return didYouMean(topic, [...named, ...(await sources.embeddedNames(environmentId))]);
}

function topicOf({ name, settings }: DataSource): string {
  return settings.topic ?? name;
}
