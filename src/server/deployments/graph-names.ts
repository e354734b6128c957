/** Resolvers and scheduled queries of a graph as callers name them. */

import type { Graph, Resolver, ScheduledQuery, SinkResolver, StreamResolver } from "../../../gen/svc/v1/graph_pb.ts";
import { didYouMean } from "../../domain/closest.ts";
import { Failure } from "../failure.ts";

/** The sink of a name, or of its last part; undefined when it is no sink's, or may be several. */
export function sinkNamed({ sinkResolvers }: Graph, name: string): SinkResolver | undefined {
  return onlyNamed(sinkResolvers, name);
}

/** The resolver of a topic's messages of a name, as `sinkNamed`. */
export function streamNamed({ streamResolvers }: Graph, name: string): StreamResolver | undefined {
  return onlyNamed(streamResolvers, name);
}

function onlyNamed<T extends { readonly fqn: string }>(all: readonly T[], name: string): T | undefined {
  const found = all.filter(({ fqn }) => fqn === name || fqn.endsWith(`.${name}`));
  return found.length === 1 ? found[0] : found.find(({ fqn }) => fqn === name);
}

/** The resolver of a name. Throws Failure not_found or invalid_argument. */
export function resolverNamed(graph: Graph, name: string): Resolver {
  const { resolvers, streamResolvers } = graph;
  if (name === "") throw new Failure("invalid_argument", "Name the resolver.", { hint: "`svc resolvers` shows them." });
  const whole = resolvers.find(({ fqn }) => fqn === name);
  const found = whole ? [whole] : resolvers.filter(({ fqn }) => fqn.endsWith(`.${name}`));
  const [only] = found;
  if (only && found.length === 1) return only;
  if (found.length > 1)
    throw new Failure("invalid_argument", `'${name}' may be ${found.map(({ fqn }) => fqn).join(" or ")}.`, {
      hint: "Give the whole name.",
    });
  const stream = streamResolvers.find(({ fqn }) => fqn === name || fqn.endsWith(`.${name}`));
  if (stream)
    throw new Failure("invalid_argument", `'${stream.fqn}' is the resolver of a stream: messages run it, and nothing else.`, {
      hint: `\`svc streams get ${stream.fqn}\` shows it.`,
    });
  const sink = sinkNamed(graph, name);
  if (sink)
    throw new Failure("invalid_argument", `'${sink.fqn}' is a sink: rows that become known run it, and nothing else.`, {
      hint: `\`svc resolvers show ${sink.fqn}\` shows it.`,
    });
  const near = didYouMean(
    name,
    resolvers.map(({ fqn }) => fqn),
  );
  throw new Failure("not_found", `There is no resolver '${name.slice(0, 200)}' in the deployment${near ? `; ${near}` : "."}`, {
    hint: "`svc resolvers` shows them.",
  });
}

/** The scheduled query of a name. Throws Failure not_found. */
export function scheduledQueryNamed({ scheduledQueries }: Graph, name: string): ScheduledQuery {
  const found = scheduledQueries.find((one) => one.name === name);
  if (found) return found;
  const near = didYouMean(
    name,
    scheduledQueries.map((one) => one.name),
  );
  throw new Failure("not_found", `There is no scheduled query '${name.slice(0, 200)}' in the deployment${near ? `; ${near}` : "."}`, {
    hint: "`svc scheduled-query list` shows them.",
  });
}
