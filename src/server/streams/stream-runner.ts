/**
 * The streams that this node reads. Nodes share the partitions of all streams by leases, which they
 * renew; what a node no longer renews is taken by others. A lease spares work, it does not protect:
 * that two nodes read a partition at once changes nothing, because only one of them can move on.
 */

import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { errorText } from "../../domain/error-text.ts";
import { onlineScope } from "../deployments/live-scopes.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { Log } from "../log.ts";
import type { MetricRecorder } from "../metrics/recorder.ts";
import { type Following, followStore } from "../nodes/follow.ts";
import { GONE_AFTER_MS } from "../nodes/presence.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { PartitionKey, StreamFailure, StreamRecord } from "../stores/metadata/streams.ts";
import type { TileStore } from "../stores/tiles/store.ts";
import type { Homes } from "../topics/homes.ts";
import { TopicError } from "../topics/topics.ts";
import { lagOf } from "./lag.ts";
import { type LiveStream, type LiveStreams, type TopicOpener, withTopic } from "./live-streams.ts";
import { readPartition, type StepFacts } from "./partition-reader.ts";
import type { StepDeployments } from "./step-deployments.ts";

/** Milliseconds that a lease lasts, and between two renewals. */
const LEASE_MS = 15_000;
const RENEW_MS = 5_000;
/** Milliseconds for which the partitions of a topic are remembered. */
const PARTITIONS_MS = 10_000;
/** Milliseconds that a topic has to tell its partitions. */
const DESCRIBE_MS = 10_000;

/** What the runner needs. */
export interface StreamRunnerParts {
  readonly metadata: Pick<MetadataStore, "nodes" | "streams">;
  readonly live: LiveStreams;
  readonly open: TopicOpener;
  /** The nodes that have the server's own topics, and the positions of streams. */
  readonly homes: { readonly topics: Homes; readonly streams: Homes };
  readonly tiles: () => Promise<TileStore>;
  readonly stepOf: StepDeployments;
  readonly metrics: MetricRecorder;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly node: string;
  /** Tells webhooks of a stream that was stopped; the same when it is called again. */
  readonly tellStopped: (stopped: StreamStop) => Promise<void>;
  /** Whether writing to the stores is suspended, so that nothing is read. */
  readonly isSuspended: () => boolean;
}

/** A stream that was stopped because of its code, or of all its messages. */
export interface StreamStop extends Pick<StreamRecord, "environmentId" | "id" | "name">, Omit<StreamFailure, "isTold"> {}

/** The runner. */
export interface StreamRunner {
  /** Number of partitions that this node reads. */
  partitions(): number;
  /** Ends all steps, and gives the partitions to others. */
  stop(): Promise<void>;
}

/** A stream of which partitions may be read. */
interface Wanted extends LiveStream {
  readonly record: StreamRecord;
  readonly partitions: readonly number[];
  /** Whether no other node can read it. */
  readonly isOwn: boolean;
}

interface Reading {
  readonly streamId: string;
  readonly stream: LiveStream;
  /** Whether it is the first partition of its stream. */
  readonly isFirst: boolean;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/** Starts the runner. */
export function startStreamRunner(parts: StreamRunnerParts): StreamRunner {
  const { bus, clock, homes, live, log, metadata, node } = parts;
  const readings = new Map<string, Reading>();
  const described = new Map<string, { readonly at: number; readonly partitions: readonly number[] }>();
  const problems = new Map<string, string>();
  const stopping = new AbortController();
  let isHolding = false;

  const partitionsOf = async (record: StreamRecord, { environment, source }: LiveStream): Promise<readonly number[]> => {
    const known = described.get(record.id);
    if (known && clock.now() - known.at < PARTITIONS_MS) return known.partitions;
    const signal = AbortSignal.any([stopping.signal, AbortSignal.timeout(DESCRIBE_MS)]);
    const ends = await withTopic(
      () => parts.open(environment.id, source),
      ({ topic, topics }) => topics.describe(topic, signal),
    );
    const partitions = ends.map(({ partition }) => partition);
    described.set(record.id, { at: clock.now(), partitions });
    return partitions;
  };

  const wantedOf = async (stream: LiveStream, record: StreamRecord): Promise<Wanted[]> => {
    if (record.isPaused || record.failure?.deploymentId === stream.deploymentId) return [];
    const isOwn = !homes.streams.isEverywhere || (stream.source.kind === SourceKind.TOPIC && !homes.topics.isEverywhere);
    try {
      const partitions = await partitionsOf(record, stream);
      problems.delete(record.id);
      if (await homes.streams.claim(record.environmentId, record.id)) return [];
      return [{ ...stream, record, partitions, isOwn }];
    } catch (error) {
      if (error instanceof TopicError && error.code === "elsewhere") return [];
      const problem = errorText(error);
      if (problems.get(record.id) !== problem && !stopping.signal.aborted)
        log.warning("the topic of a stream cannot be used", { stream: record.name, environment: record.environmentId, error: problem });
      problems.set(record.id, problem);
      // What is read already goes on by itself as soon as the topic can be used.
      const known = described.get(record.id);
      return known && !(await homes.streams.find(record.environmentId, record.id))
        ? [{ ...stream, record, partitions: known.partitions, isOwn }]
        : [];
    }
  };

  const recordsOf = async (streams: readonly LiveStream[]): Promise<(readonly [LiveStream, StreamRecord])[]> => {
    const byEnvironment = Map.groupBy(streams, ({ environment }) => environment.id);
    const found: (readonly [LiveStream, StreamRecord])[] = [];
    for (const [environmentId, own] of byEnvironment) {
      const known = new Map((await metadata.streams.list(environmentId)).map((record) => [record.name, record]));
      const missing = own.map(({ resolver }) => resolver.fqn).filter((fqn) => !known.has(fqn));
      if (missing.length > 0)
        for (const record of await metadata.streams.ensure(environmentId, missing, () => newId("str", clock.now())))
          known.set(record.name, record);
      for (const stream of own) found.push([stream, known.get(stream.resolver.fqn) as StreamRecord]);
    }
    return found;
  };

  /**
   * Tells webhooks why a stream was stopped; when that fails, it is done again with the next look.
   */
  const tellStopped = async (stopped: StreamStop): Promise<void> => {
    try {
      await parts.tellStopped(stopped);
      await metadata.streams.noteTold(stopped.id, stopped.at);
    } catch (error) {
      log.warning("webhooks could not be told of a stream that was stopped", { stream: stopped.name, error: errorText(error) });
    }
  };

  const settle = async (): Promise<void> => {
    const streams = parts.isSuspended() ? [] : await live.all();
    const records = await recordsOf(streams);
    for (const [{ deploymentId }, { failure, ...record }] of records)
      if (failure && !failure.isTold && failure.deploymentId === deploymentId) await tellStopped({ ...record, ...failure });
    const wanted = (await Promise.all(records.map(([stream, record]) => wantedOf(stream, record)))).flat();
    const keysOf = (streams: readonly Wanted[]) =>
      streams.flatMap(({ partitions, record }) => partitions.map((partition) => ({ streamId: record.id, partition })));
    const own = keysOf(wanted.filter(({ isOwn }) => isOwn));
    const keys = keysOf(wanted.filter(({ isOwn }) => !isOwn));
    let held: readonly PartitionKey[] = [];
    if (keys.length + own.length > 0 || isHolding) {
      const nodes = (await metadata.nodes.list(GONE_AFTER_MS)).filter(({ isDraining }) => !isDraining).length;
      held = await metadata.streams.lease(node, turned(keys, node), Math.ceil(keys.length / Math.max(1, nodes)), LEASE_MS, own);
    }
    isHolding = held.length > 0;
    const streamsById = new Map(wanted.map((one) => [one.record.id, one]));
    const mine = new Map(held.map((key) => [`${key.streamId}/${key.partition}`, key]));
    // One that is to end may be in a long call: when that is over, its place is looked at again.
    for (const [place, { abort, stream, streamId }] of readings)
      if (!mine.has(place) || streamsById.get(streamId)?.deploymentId !== stream.deploymentId) abort.abort();
    for (const [place, key] of mine) if (!readings.has(place)) begin(place, key, streamsById.get(key.streamId) as Wanted);
  };

  const begin = (place: string, key: PartitionKey, { environment, partitions, record, ...stream }: Wanted): void => {
    const abort = new AbortController();
    const signal = AbortSignal.any([abort.signal, stopping.signal]);
    const reading = parts.tiles().then((tiles) =>
      readPartition({
        ...{ key, tiles, signal, scope: onlineScope(environment.id, "") },
        open: () => parts.open(environment.id, stream.source),
        streams: metadata.streams,
        deployment: () => parts.stepOf({ environment, ...stream }),
        isCurrent() {
          if (!live.isCurrent({ environment, ...stream })) abort.abort();
          return !abort.signal.aborted;
        },
        now: () => clock.now(),
        pause: (ms) => clock.sleep(ms, signal),
        note: async (problem) => {
          await metadata.streams.note(node, key, problem);
          noteChange(bus, "streams", environment.id);
        },
        async fail(deploymentId, reason) {
          await metadata.streams.fail(record.id, { deploymentId, reason });
          log.error("a stream was stopped", { stream: record.name, environment: environment.id, deployment: deploymentId, error: reason });
          bus.publish("streams", record.id);
          noteChange(bus, "streams", environment.id);
        },
        stepped: (facts) => recordStep(parts.metrics, environment.id, record.name, facts, clock.now()),
        warn: (message, fields) => log.warning(message, { ...fields, stream: record.name, environment: environment.id }),
      }),
    );
    const done = reading
      .catch((error: unknown) => log.error("a stream could not be read", { stream: record.name, error: errorText(error) }))
      .finally(() => {
        readings.delete(place);
        if (abort.signal.aborted) void following.reread().catch(() => undefined);
      });
    readings.set(place, { streamId: record.id, stream: { environment, ...stream }, isFirst: key.partition === partitions[0], abort, done });
  };

  /** Records the lag of the streams whose first partition is read here. */
  const sampleLag = async (): Promise<void> => {
    for (const { isFirst, stream, streamId } of [...readings.values()]) {
      if (!isFirst) continue;
      const { environment, resolver, source } = stream;
      const positions = await (await parts.tiles()).positions(onlineScope(environment.id, ""), streamId);
      const ends = await withTopic(
        () => parts.open(environment.id, source),
        ({ topic, topics }) => topics.describe(topic, AbortSignal.any([stopping.signal, AbortSignal.timeout(DESCRIBE_MS)])),
      );
      parts.metrics.gauge("stream.lag", environment.id, { stream: resolver.fqn }).set(lagOf(positions, ends));
    }
  };
  parts.metrics.sample(() =>
    sampleLag().catch((error: unknown) => log.debug("the lag of streams is not known", { error: errorText(error) })),
  );

  const following: Following = followStore({
    bus,
    topic: "streams",
    clock,
    log,
    async read(ids) {
      for (const { abort, streamId } of readings.values()) if (ids?.has(streamId)) abort.abort();
      await settle();
    },
  });
  const others = (["live", "environments"] as const).map((topic) =>
    bus.subscribe(topic, () => void following.reread().catch(() => undefined)),
  );
  const renew = async (): Promise<void> => {
    for (;;) {
      await clock.sleep(RENEW_MS, stopping.signal);
      if (isHolding || problems.size > 0) await following.reread().catch(() => undefined);
    }
  };
  renew().catch(() => undefined);

  return {
    partitions: () => readings.size,
    async stop() {
      for (const unsubscribe of others) unsubscribe();
      stopping.abort();
      await following.stop();
      await Promise.all([...readings.values()].map(({ done }) => done));
      if (isHolding) await metadata.streams.release(node).catch(() => undefined);
    },
  };
}

/** Keys in an order of their own for each node, so that nodes reach for different ones first. */
function turned(keys: readonly PartitionKey[], node: string): readonly PartitionKey[] {
  const at = keys.length === 0 ? 0 : Number(Bun.hash(node) % BigInt(keys.length));
  return [...keys.slice(at), ...keys.slice(0, at)];
}

function recordStep(metrics: MetricRecorder, environmentId: string, stream: string, facts: StepFacts, now: number): void {
  if (!metrics.isOn) return;
  metrics.counter("stream.messages", environmentId, { stream }).add(facts.messages);
  if (facts.refused > 0) metrics.counter("stream.dead_letters", environmentId, { stream }).add(facts.refused);
  for (const [feature, values] of facts.counted)
    metrics.counter("feature.validation_failures", environmentId, { feature, branch: "" }).add(values);
  if (facts.late > 0) metrics.counter("stream.late", environmentId, { stream }).add(facts.late);
  if (facts.oldest !== undefined)
    metrics.histogram("stream.latency", environmentId, { stream }).observe(Math.max(0, now - facts.oldest) / 1000);
}
