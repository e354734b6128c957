/**
 * The events of this server, on their way to the outbox. A query hands over what happened and waits
 * for nothing: events are kept in memory and queued a moment later, many in one step. A process
 * that is killed loses those of that moment, and no others. Without a webhook for it nothing is
 * made of an event.
 */

import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { errorText } from "../../domain/error-text.ts";
import type { DeletedValues } from "../deletions/deleted-values.ts";
import type { Collection } from "../documents/collection.ts";
import type { Log } from "../log.ts";
import { type ComputedCell, ComputedRecorder } from "../query/answer/computed.ts";
import type { LiveDeployment } from "../query/live-deployment.ts";
import type { DeploymentRecord } from "../stores/metadata/deployments.ts";
import { branchOf } from "../stores/online/scope.ts";
import type { StreamStop } from "../streams/stream-runner.ts";
import type { UploadedPart } from "../value-uploads/value-uploads.ts";
import type { Deliveries } from "./deliveries.ts";
import type { WebhookEvent } from "./delivery.ts";
import { type EventType, type FeatureChoice, featuresOf, subscribesTo } from "./subscription.ts";
import { type ToldValues, withoutValues } from "./told-values.ts";
import type { Webhook, WebhookContent } from "./webhook.ts";

/** A query that ended, in whatever way. */
export interface QueryFacts {
  readonly queryId: string;
  readonly queryName: string;
  readonly correlationId: string;
  readonly startedAt: number;
  readonly durationMs: number;
  /** Errors in the answer, or 1 when there is none. */
  readonly errorCount: number;
  /** Whether there is no answer because the query was wrong as a whole. */
  readonly isRefused: boolean;
  /**
   * W3C `traceparent` of its first span, or of the caller's; undefined = nobody asked for a trace.
   */
  readonly traceparent: string | undefined;
}

/** Those who want to be told of one query. */
export interface QueryWatch {
  /** Takes note of what is computed; undefined when nobody wants to know. */
  readonly computed: ComputedRecorder | undefined;
  /** Tells of the query when it has ended; never waits, never throws. */
  ended(facts: QueryFacts): void;
}

/** What became of a monitor: it fires, or it does so no longer. */
export interface MonitorEvent {
  readonly type: "monitor.firing" | "monitor.resolved";
  readonly environmentId: string;
  /** Names of the webhooks that are told, if they subscribe to the event; empty = all that do. */
  readonly webhooks: readonly string[];
  /** The same for the same event, whoever tells of it. */
  readonly key: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly payload: object;
}

/** The events of a server. */
export interface Events {
  /** Who wants to be told of a query on a deployment; undefined = nobody. */
  watch(deployment: LiveDeployment): QueryWatch | undefined;
  /** Tells of values that were uploaded, as of computed ones; never rejects. */
  uploaded(part: UploadedPart): Promise<void>;
  /** Queues the event of a deployment, durably when this resolves. May be called again. */
  deploymentSettled(deployment: DeploymentRecord): Promise<void>;
  /** Queues the event of a monitor, durably when this resolves. May be called again. */
  monitorChanged(event: MonitorEvent): Promise<void>;
  /**
   * Queues the event of a stream that was stopped, durably when this resolves. May be called again.
   */
  streamStopped(stopped: StreamStop): Promise<void>;
  /** Resolves when the events until now were queued or dropped. */
  flush(): Promise<void>;
  /** Flushes; later events are dropped. */
  close(): Promise<void>;
}

/** What was deleted, and so is told to nobody. */
export type Silences = Pick<DeletedValues, "silencedSince">;

/** Milliseconds for which events are collected. */
const FLUSH_MS = 100;
/** Events of a webhook that are handed to the outbox's thread in one step. */
const MAX_STEP = 100;
const RETRY_MS = 1_000;
/** Events in memory that wait to be queued. */
export const MAX_UNQUEUED = 2_000;
/** Values of a `feature.computed` event. */
const MAX_VALUES = 1_000;
/** Characters of an event's values as JSON. */
const MAX_VALUES_LENGTH = 32 * 1024;
/** Characters of what callers name, such as correlation ids. */
const MAX_NAME = 200;

/** The webhooks of an environment by what they are told of. */
interface Audience {
  readonly queries: readonly Webhook[];
  readonly resolvers: readonly Webhook[];
  readonly features: readonly { readonly webhook: Webhook; readonly choice: FeatureChoice }[];
}

/** Makes the events of a server. */
export function createEvents({
  webhooks,
  deliveries,
  deleted,
  clock,
  log,
}: {
  readonly webhooks: Pick<Collection<WebhookContent>, "list" | "remembered">;
  readonly deliveries: Pick<Deliveries, "enqueue" | "countDropped">;
  readonly deleted: Silences;
  readonly clock: Clock;
  readonly log: Log;
}): Events {
  const audiences = new WeakMap<readonly Webhook[], Audience>();
  const chosen = new WeakMap<FeatureChoice, WeakMap<Graph, ReadonlySet<string>>>();
  const unqueued = new Map<Webhook, WebhookEvent[]>();
  let unqueuedCount = 0;
  let flushing: Promise<void> | undefined;
  const closing = new AbortController();

  /** An event without values that were deleted since; what is queued already, a deletion finds. */
  const withoutDeleted = (environmentId: string, event: WebhookEvent): WebhookEvent => {
    const isSilenced = event.since === undefined ? undefined : deleted.silencedSince(environmentId, event.since);
    if (!isSilenced) return event;
    const told = JSON.parse(event.payload) as ToldValues;
    const rest = withoutValues(told, (value) => isSilenced(told.branch, value));
    return rest === told ? event : { ...event, payload: JSON.stringify(rest) };
  };

  const queue = async (webhook: Webhook, events: readonly WebhookEvent[]): Promise<void> => {
    try {
      await deliveries.enqueue(
        webhook,
        events.map((event) => withoutDeleted(webhook.scope, event)),
      );
    } catch (error) {
      log.warning("events for a webhook could not be queued", { webhook: webhook.id, error: errorText(error) });
      await clock.sleep(RETRY_MS, closing.signal).catch(() => undefined);
      for (const event of events) append(webhook, () => event);
    }
  };

  /** Queues some events of every webhook, so that no step is long, until none is left. */
  const flushSoon = (): void => {
    flushing ??= (async () => {
      while (unqueued.size > 0) {
        await clock.sleep(FLUSH_MS, closing.signal).catch(() => undefined);
        const queueing = [...unqueued].map(([webhook, events]) => {
          const taken = events.splice(0, MAX_STEP);
          if (events.length === 0) unqueued.delete(webhook);
          unqueuedCount -= taken.length;
          return queue(webhook, taken);
        });
        await Promise.all(queueing);
      }
      flushing = undefined;
    })();
  };

  /** Takes an event, which is not even made when there is no room for it. */
  const append = (webhook: Webhook, make: () => WebhookEvent): void => {
    if (closing.signal.aborted || unqueuedCount >= MAX_UNQUEUED) {
      deliveries.countDropped(webhook.scope, 1);
      return;
    }
    const event = make();
    const events = unqueued.get(webhook) ?? [];
    unqueued.set(webhook, events);
    events.push(event);
    unqueuedCount++;
    flushSoon();
  };

  const audienceOf = (all: readonly Webhook[]): Audience => {
    const known = audiences.get(all);
    if (known) return known;
    const told = (type: EventType) => all.filter(({ content }) => subscribesTo(content.subscriptions, type));
    const audience: Audience = {
      queries: told("query.run"),
      resolvers: told("resolver.run"),
      features: all.flatMap((webhook) => {
        const choice = featuresOf(webhook.content.subscriptions);
        return choice ? [{ webhook, choice }] : [];
      }),
    };
    audiences.set(all, audience);
    return audience;
  };

  /** Whether a feature of a deployment is chosen, by its FQN. */
  const wanted = (choice: FeatureChoice, { graph }: Pick<LiveDeployment, "graph">): ((fqn: string) => boolean) => {
    if (choice.isAll) return () => true;
    const byGraph = chosen.get(choice) ?? new WeakMap<Graph, ReadonlySet<string>>();
    chosen.set(choice, byGraph);
    const fqns = byGraph.get(graph) ?? new Set([...choice.fqns, ...taggedOf(graph, choice.tags)]);
    byGraph.set(graph, fqns);
    return (fqn) => fqns.has(fqn);
  };

  /** Tells of a query; whatever goes wrong, the query does not fail for it. */
  const emit = (...told: Parameters<typeof emitAll>): void => {
    try {
      emitAll(...told);
    } catch (error) {
      log.error("an event for webhooks could not be made", { error: errorText(error) });
    }
  };

  const emitAll = (
    deployment: LiveDeployment,
    { queries, resolvers, features }: Audience,
    computed: ComputedRecorder | undefined,
    { queryId, queryName, correlationId, startedAt, durationMs, errorCount, isRefused, traceparent }: QueryFacts,
  ): void => {
    const place = {
      query_id: queryId,
      deployment_id: deployment.id,
      branch: branchOf(deployment.scope),
      query_name: queryName.slice(0, MAX_NAME),
      correlation_id: correlationId.slice(0, MAX_NAME),
    };
    const tell = (webhook: Webhook, subscription: EventType, key: string, payload: () => object): void =>
      append(webhook, () => ({
        subscription,
        payload: JSON.stringify(payload()),
        at: startedAt + durationMs,
        ...(subscription === "feature.computed" ? { since: startedAt } : {}),
        key: `${subscription}/${key}`,
        ...(traceparent !== undefined && { trace: { traceparent, queryId } }),
      }));
    for (const webhook of queries)
      tell(webhook, "query.run", queryId, () => ({
        ...place,
        started_at: new Date(startedAt).toISOString(),
        duration_ms: durationMs,
        status: isRefused ? "refused" : errorCount > 0 ? "failed" : "succeeded",
        error_count: errorCount,
      }));
    if (!computed) return;
    for (const webhook of resolvers)
      for (const { resolver, calls, rows, failed, ms } of computed.resolvers())
        tell(webhook, "resolver.run", `${queryId}/${resolver}`, () => ({
          ...place,
          resolver,
          calls,
          rows,
          failed_rows: failed,
          duration_ms: ms,
          status: failed > 0 ? "failed" : "succeeded",
        }));
    for (const { webhook, choice } of features) {
      const wants = wanted(choice, deployment);
      const cells = computed.cells.filter(({ fqn }) => wants(fqn));
      if (cells.length === 0) continue;
      tell(webhook, "feature.computed", queryId, () => {
        const values = fitting(cells);
        return { ...place, values, omitted: cells.length - values.length + computed.omitted };
      });
    }
  };

  const emitUploaded = (all: readonly Webhook[], { at, branch, deployment, offset, uploadId, values }: UploadedPart): void => {
    for (const { webhook, choice } of audienceOf(all).features) {
      const cells: ComputedCell[] = [];
      let count = 0;
      for (const cell of values(wanted(choice, deployment))) if (++count <= MAX_VALUES) cells.push(cell);
      if (count === 0) continue;
      append(webhook, () => {
        const told = fitting(cells);
        const place = { query_id: "", upload_id: uploadId, deployment_id: deployment.id, branch, query_name: "", correlation_id: "" };
        const payload = JSON.stringify({ ...place, values: told, omitted: count - told.length });
        return { subscription: "feature.computed", payload, at, since: at, key: `feature.computed/${uploadId}/${offset}` };
      });
    }
  };

  const watchFor = (deployment: LiveDeployment, audience: Audience): QueryWatch | undefined => {
    const { queries, resolvers, features } = audience;
    if (queries.length + resolvers.length + features.length === 0) return undefined;
    const choices = features.map(({ choice }) => wanted(choice, deployment));
    const computed =
      resolvers.length + features.length === 0
        ? undefined
        : new ComputedRecorder({ wants: (fqn) => choices.some((wants) => wants(fqn)), maxValues: MAX_VALUES });
    return { computed, ended: (facts) => emit(deployment, audience, computed, facts) };
  };

  /** The watch of a query that runs while the webhooks are read: everything is noted meanwhile. */
  const watchLater = (deployment: LiveDeployment, reading: Promise<readonly Webhook[]>): QueryWatch => {
    const computed = new ComputedRecorder({ wants: () => true, maxValues: MAX_VALUES });
    return {
      computed,
      ended(facts) {
        reading.then(
          (all) => emit(deployment, audienceOf(all), computed, facts),
          (error: unknown) => log.warning("the webhooks could not be read", { error: errorText(error) }),
        );
      },
    };
  };

  return {
    watch(deployment) {
      const all = webhooks.remembered(deployment.environmentId);
      if (all instanceof Promise) return watchLater(deployment, all);
      return all.length === 0 ? undefined : watchFor(deployment, audienceOf(all));
    },
    async uploaded(part) {
      try {
        emitUploaded(await webhooks.remembered(part.environmentId), part);
      } catch (error) {
        log.warning("webhooks were not told of an upload", { upload: part.uploadId, error: errorText(error) });
      }
    },
    async deploymentSettled({ id, environmentId, branch, projectName, promoted, status, error }) {
      const type = deploymentEvent(status);
      const all = await webhooks.list(environmentId);
      const reason = type === "deployment.failed" ? { error } : {};
      const payload = JSON.stringify({ deployment_id: id, branch, project: projectName, promoted, ...reason });
      for (const webhook of all)
        if (subscribesTo(webhook.content.subscriptions, type))
          await deliveries.enqueue(webhook, [{ subscription: type, payload, at: clock.now(), key: `${type}/${id}` }]);
    },
    async monitorChanged({ type, environmentId, webhooks: named, key, at, payload }) {
      const event = { subscription: type, payload: JSON.stringify(payload), at, key: `${type}/${key}` };
      for (const webhook of await webhooks.list(environmentId))
        if (subscribesTo(webhook.content.subscriptions, type) && (named.length === 0 || named.includes(webhook.name)))
          await deliveries.enqueue(webhook, [event]);
    },
    async streamStopped({ environmentId, id, name, deploymentId, reason, at }) {
      const payload = JSON.stringify({ stream: name, deployment_id: deploymentId, reason, stopped_at: new Date(at).toISOString() });
      for (const webhook of await webhooks.list(environmentId))
        if (subscribesTo(webhook.content.subscriptions, "stream.stopped"))
          await deliveries.enqueue(webhook, [{ subscription: "stream.stopped", payload, at, key: `stream.stopped/${id}/${at}` }]);
    },
    async flush() {
      while (flushing) await flushing;
    },
    async close() {
      closing.abort();
      await flushing;
    },
  };
}

function deploymentEvent(status: DeploymentStatus): EventType {
  if (status === DeploymentStatus.FAILED) return "deployment.failed";
  return status === DeploymentStatus.WAITING ? "deployment.waiting" : "deployment.live";
}

/** FQNs of the features with one of the tags. */
function taggedOf(graph: Graph, wanted: ReadonlySet<string>): string[] {
  return graph.featureSets.flatMap(({ features }) =>
    features.filter(({ tags }) => tags.some((tag) => wanted.has(tag))).map(({ fqn }) => fqn),
  );
}

/** As many of the values as an event has room for. */
function fitting(cells: readonly ComputedCell[]): readonly ComputedCell[] {
  let room = MAX_VALUES_LENGTH;
  const values: ComputedCell[] = [];
  for (const cell of cells) {
    room -= JSON.stringify(cell).length;
    if (room < 0) break;
    values.push(cell);
  }
  return values;
}
