/** The streams of the deployments that are live in main scopes. */

import type { DataSource, Graph, StreamResolver } from "../../../gen/svc/v1/graph_pb.ts";
import { isInEnvironment } from "../../domain/in-environment.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { Topics } from "../topics/topics.ts";

/** A stream as a live deployment defines it. */
export interface LiveStream {
  readonly environment: EnvironmentRecord;
  readonly deploymentId: string;
  readonly resolver: StreamResolver;
  readonly source: DataSource;
}

/** A topic that is in use until it is released. */
export interface OpenTopic {
  readonly topic: string;
  readonly topics: Topics;
  /** Ends the use; called once. */
  release(): void;
}

/** Opens the topic of a source. Rejects with TopicError. */
export type TopicOpener = (environmentId: string, source: DataSource) => Promise<OpenTopic>;

/** Uses a topic. Rejects with TopicError, or as `use` does. */
export async function withTopic<T>(open: () => Promise<OpenTopic>, use: (opened: OpenTopic) => Promise<T>): Promise<T> {
  const opened = await open();
  try {
    return await use(opened);
  } finally {
    opened.release();
  }
}

/** What live streams are read from. */
export interface LiveStreamsParts {
  readonly metadata: { environments(): Promise<EnvironmentRecord[]> };
  readonly deployments: { live(environmentId: string, branch: string): string | undefined; graph(id: string): Promise<Graph> };
}

/** Reads the live streams; a deployment never changes, so it is looked at once. */
export class LiveStreams {
  #known = new Map<string, Pick<Graph, "streamResolvers" | "sources">>();

  constructor(readonly parts: LiveStreamsParts) {}

  /** Those of an environment; none when nothing is live there, or it is suspended. */
  async of(environment: EnvironmentRecord): Promise<LiveStream[]> {
    const live = environment.suspendedAt === undefined ? this.parts.deployments.live(environment.id, "") : undefined;
    if (live === undefined) return [];
    let known = this.#known.get(live);
    if (!known) {
      const { sources, streamResolvers } = await this.parts.deployments.graph(live);
      known = { sources, streamResolvers };
      this.#known.set(live, known);
    }
    const { sources, streamResolvers } = known;
    return streamResolvers.flatMap((resolver) => {
      const source = sources.find(({ name }) => name === resolver.source);
      const isHere = isInEnvironment(resolver.environments, environment.name);
      return source && isHere ? [{ environment, deploymentId: live, resolver, source }] : [];
    });
  }

  /** Whether the deployment of a stream is still the one that is live. */
  isCurrent({ deploymentId, environment }: Pick<LiveStream, "deploymentId" | "environment">): boolean {
    return this.parts.deployments.live(environment.id, "") === deploymentId;
  }

  /** Those of all environments. */
  async all(): Promise<LiveStream[]> {
    const environments = await this.parts.metadata.environments();
    const found = await Promise.all(environments.map((environment) => this.of(environment)));
    const live = new Set(environments.map(({ id }) => this.parts.deployments.live(id, "")));
    for (const id of this.#known.keys()) if (!live.has(id)) this.#known.delete(id);
    return found.flat();
  }
}
