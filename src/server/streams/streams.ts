/** Streams as callers see and steer them: how far they are, pauses, positions, and dead letters. */

import { didYouMean } from "../../domain/closest.ts";
import { errorText } from "../../domain/error-text.ts";
import { onlineScope } from "../deployments/live-scopes.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { DeadLetter, StreamRecord, StreamStore } from "../stores/metadata/streams.ts";
import type { TileStore } from "../stores/tiles/store.ts";
import { type Homes, nodeText, type OtherNode } from "../topics/homes.ts";
import { type PartitionEnds, type ReadPosition, TopicError } from "../topics/topics.ts";
import { partitionLag } from "./lag.ts";
import { type LiveStream, type LiveStreams, type OpenTopic, type TopicOpener, withTopic } from "./live-streams.ts";
import { LETTER_BOUNDS, letterOf, type StepDeployment } from "./partition-reader.ts";
import type { StepDeployments } from "./step-deployments.ts";

/** What a stream does. */
export type StreamState =
  /** It reads. */
  | "running"
  /** Somebody paused it. */
  | "paused"
  /** It was stopped, because of its code or of all its messages. */
  | "failed"
  /** It is tried again: its topic or its workers cannot be used now. */
  | "retrying"
  /** Nobody reads it yet. */
  | "starting"
  /** No live deployment defines it any more. */
  | "inactive";

/** A partition as it stands. Offsets are undefined where the topic does not tell. */
export interface PartitionStanding {
  readonly partition: number;
  /** Offset of the next message; undefined = nothing was read yet. */
  readonly offset: bigint | undefined;
  readonly earliest: bigint | undefined;
  readonly latest: bigint | undefined;
  /** Messages that are kept and not read yet. */
  readonly lag: number | undefined;
  /** Latest time of a row, microseconds since 1970. */
  readonly watermark: number | undefined;
  /** Node that reads it; empty = none does. */
  readonly node: string;
  /** Why it is not read at the moment; empty = it is. */
  readonly problem: string;
}

/** A stream as it stands. */
export interface StreamStanding {
  readonly record: StreamRecord;
  /** Undefined = no live deployment has it. */
  readonly live: LiveStream | undefined;
  /** Empty = it is not known. */
  readonly topic: string;
  readonly state: StreamState;
  /** Why it does not run, or which other node has its position; empty = it runs here. */
  readonly problem: string;
  readonly partitions: readonly PartitionStanding[];
  readonly deadLetters: number;
}

/** Where a stream is to go on. */
export type SeekTarget =
  | { readonly to: "earliest" | "latest" }
  /** The first message at or after it, epoch milliseconds. */
  | { readonly to: "time"; readonly time: number }
  | { readonly to: "offset"; readonly offset: bigint };

/** What came of dead letters that were computed again. */
export interface Replayed {
  /** Messages whose rows are stored now. */
  readonly stored: number;
  /** Messages that were left out on purpose, or had been stored before. */
  readonly skipped: number;
  /** Messages that failed again, and are kept anew. */
  readonly failed: number;
  /** Number of the last one; 0 = there was none. */
  readonly through: number;
  /** Number up to which letters are meant. */
  readonly until: number;
  /** Whether there are more. */
  readonly isMore: boolean;
}

/** A stream that was stopped. */
export interface StoppedStream {
  readonly name: string;
  /** Name of its environment. */
  readonly environment: string;
  readonly reason: string;
}

/** The capability. Everything rejects with Failure. */
export interface Streams {
  /** Streams of an environment, by name. */
  list(environment: EnvironmentRecord): Promise<StreamStanding[]>;
  /** Streams of live deployments that were stopped because their messages failed. */
  stopped(): Promise<readonly StoppedStream[]>;
  /** A stream by its FQN, or its last part. */
  find(environment: EnvironmentRecord, name: string): Promise<StreamStanding>;
  pause(environment: EnvironmentRecord, name: string, isPaused: boolean): Promise<StreamStanding>;
  /** Moves partitions; none are named = all. */
  seek(environment: EnvironmentRecord, name: string, target: SeekTarget, partitions: readonly number[]): Promise<StreamStanding>;
  /** Dead letters of a stream, the newest first. */
  letters(
    environment: EnvironmentRecord,
    name: string,
    page: { readonly before: number | undefined; readonly limit: number },
  ): Promise<DeadLetter[]>;
  /**
   * Computes dead letters again, each of which counts once however often it is asked for: those of
   * some numbers, or all until one, of which a call takes a part.
   */
  replay(environment: EnvironmentRecord, name: string, choice: ReplayChoice): Promise<Replayed>;
}

/** Which dead letters are computed again. */
export interface ReplayChoice {
  /** Empty = all. */
  readonly among: readonly number[];
  /** Only those with a higher number; 0 = any. */
  readonly after: number;
  /** Only those up to this number; 0 = up to the last of now. */
  readonly until: number;
}

/** What the capability needs. */
export interface StreamsParts {
  readonly streams: StreamStore;
  readonly live: LiveStreams;
  readonly open: TopicOpener;
  /** The nodes that have the positions of streams. */
  readonly homes: Homes;
  readonly tiles: () => Promise<TileStore>;
  readonly stepOf: StepDeployments;
  readonly bus: Bus;
  readonly now: () => number;
}

/** What to do about a position that lies with a node that does not run. */
const GONE_HOME = "start that one again, or `svc streams seek` has this node go on from a place of your choice";
/** Milliseconds that a topic has to answer when streams are shown. */
const TOPIC_MS = 5_000;
/** Dead letters that a call computes. */
const REPLAY_LETTERS = 500;

/** Makes the capability. */
export function createStreams(parts: StreamsParts): Streams {
  const { bus, homes, live, open, streams } = parts;

  const changed = (environment: EnvironmentRecord, id: string): void => {
    bus.publish("streams", id);
    noteChange(bus, "streams", environment.id);
  };

  const standingOf = async (
    environment: EnvironmentRecord,
    record: StreamRecord,
    defined: LiveStream | undefined,
    deadLetters: number,
  ): Promise<StreamStanding> => {
    const tiles = await parts.tiles();
    const positions = await tiles.positions(onlineScope(environment.id, ""), record.id);
    const other = await homes.find(environment.id, record.id);
    let elsewhere = other ? `Its position lies with ${nodeText(other)}: ${other.url === undefined ? GONE_HOME : "ask there"}.` : "";
    const leases = new Map((await streams.leases([record.id])).map((lease) => [lease.partition, lease]));
    let topic = "";
    let ends: readonly PartitionEnds[] = [];
    let unusable = "";
    if (defined) {
      try {
        ends = await withTopic(
          () => open(environment.id, defined.source),
          (opened) => {
            topic = opened.topic;
            return opened.topics.describe(topic, AbortSignal.timeout(TOPIC_MS));
          },
        );
      } catch (error) {
        if (error instanceof TopicError && error.code === "elsewhere") elsewhere ||= error.message;
        else unusable = errorText(error);
      }
    }
    const known = new Map(ends.map((end) => [end.partition, end]));
    const read = new Map(positions.map((position) => [position.partition, position]));
    const numbers = [...new Set([...known.keys(), ...read.keys(), ...leases.keys()])].sort((a, b) => a - b);
    const partitions = numbers.map((partition): PartitionStanding => {
      const position = read.get(partition);
      const end = known.get(partition);
      const lease = leases.get(partition);
      return {
        ...{ partition, offset: position?.offset, earliest: end?.earliest, latest: end?.latest, watermark: position?.watermark },
        ...{ lag: end && partitionLag(position, end), node: lease?.node ?? "", problem: lease?.problem ?? "" },
      };
    });
    if (other && other.url === undefined) unusable ||= elsewhere;
    const problem = record.failure?.reason ?? (unusable || (partitions.find((one) => one.problem !== "")?.problem ?? ""));
    const { state, problem: said } = stateOf(record, defined, problem, partitions);
    return { record, live: defined, topic, state, problem: said || (defined ? elsewhere : ""), partitions, deadLetters };
  };

  const find = async (environment: EnvironmentRecord, name: string): Promise<{ record: StreamRecord; defined: LiveStream | undefined }> => {
    const { records, defined } = await known(environment);
    const own = records.filter((record) => record.name === name);
    const found = own.length > 0 ? own : records.filter((record) => record.name.endsWith(`.${name}`));
    const [record, other] = found;
    if (record && !other) return { record, defined: defined.get(record.name) };
    if (other)
      throw new Failure("invalid_argument", `'${name.slice(0, 200)}' may be several streams: ${found.map((one) => one.name).join(", ")}.`);
    const names = records.map((one) => (name.includes(".") ? one.name : one.name.slice(one.name.lastIndexOf(".") + 1)));
    throw new Failure("not_found", `There is no stream '${name.slice(0, 200)}' in environment '${environment.name}'.`, {
      hint: didYouMean(name, names) || "`svc streams list` shows all.",
    });
  };

  const known = async (environment: EnvironmentRecord) => {
    const defined = new Map((await live.of(environment)).map((one) => [one.resolver.fqn, one]));
    const records = await streams.list(environment.id);
    const names = new Set(records.map(({ name }) => name));
    const missing = [...defined.keys()].filter((name) => !names.has(name));
    const made = missing.length === 0 ? [] : await streams.ensure(environment.id, missing, newStreamId(parts.now));
    return { defined, records: [...records, ...made].sort((a, b) => (a.name < b.name ? -1 : 1)) };
  };

  const standing = async (environment: EnvironmentRecord, name: string): Promise<StreamStanding> => {
    const { record, defined } = await find(environment, name);
    return standingOf(environment, record, defined, (await streams.countLetters([record.id])).get(record.id) ?? 0);
  };

  const running = async (environment: EnvironmentRecord, name: string): Promise<{ record: StreamRecord; defined: LiveStream }> => {
    const { record, defined } = await find(environment, name);
    if (defined) return { record, defined };
    throw new Failure("failed_precondition", `No live deployment has the stream '${record.name}' any more.`, {
      hint: "Deploy it again; its position and dead letters are kept.",
    });
  };

  return {
    async list(environment) {
      const { records, defined } = await known(environment);
      const letters = await streams.countLetters(records.map(({ id }) => id));
      return Promise.all(records.map((record) => standingOf(environment, record, defined.get(record.name), letters.get(record.id) ?? 0)));
    },

    async stopped() {
      const found: StoppedStream[] = [];
      for (const [environment, defined] of Map.groupBy(await live.all(), (one) => one.environment)) {
        const failures = new Map((await streams.list(environment.id)).map(({ failure, name }) => [name, failure]));
        for (const { deploymentId, resolver } of defined) {
          const failure = failures.get(resolver.fqn);
          if (failure?.deploymentId === deploymentId)
            found.push({ name: resolver.fqn, environment: environment.name, reason: failure.reason });
        }
      }
      return found;
    },

    find: standing,

    async pause(environment, name, isPaused) {
      const { record } = await find(environment, name);
      await streams.setPaused(record.id, isPaused);
      changed(environment, record.id);
      return standing(environment, record.name);
    },

    async seek(environment, name, target, wanted) {
      const { record, defined } = await running(environment, name);
      const moves = await withTopic(
        () => open(environment.id, defined.source),
        (opened) => movesOf(opened, target, wanted),
      ).catch((error: unknown) => {
        throw error instanceof TopicError ? new Failure("failed_precondition", error.message) : error;
      });
      refuseOther(record, await homes.takeOver(environment.id, record.id));
      const tiles = await parts.tiles();
      await tiles.seek(
        onlineScope(environment.id, ""),
        moves.map(({ offset, partition }) => ({ streamId: record.id, partition, offset })),
      );
      changed(environment, record.id);
      return standing(environment, record.name);
    },

    async letters(environment, name, { before, limit }) {
      const { record } = await find(environment, name);
      return streams.letters({ streamId: record.id, before, limit });
    },

    async replay(environment, name, { after, among, until }) {
      const { record, defined } = await running(environment, name);
      refuseOther(record, await homes.find(environment.id, record.id));
      const [newest] = until > 0 ? [] : await streams.letters({ streamId: record.id, limit: 1 });
      const last = until > 0 ? until : (newest?.seq ?? 0);
      const letters = await streams.letters({
        ...{ streamId: record.id, after, before: last + 1, limit: REPLAY_LETTERS, oldestFirst: true },
        ...(among.length > 0 && { among }),
      });
      const through = letters.at(-1)?.seq ?? 0;
      const isMore = letters.length === REPLAY_LETTERS && through < last;
      if (letters.length === 0 && among.length > 0 && after === 0)
        throw new Failure(
          "not_found",
          `The stream '${record.name}' has no dead letter ${among.slice(0, 10).join(", ")}${among.length > 10 ? ", ..." : ""}.`,
          {
            hint: `\`svc streams dead-letters list ${record.name}\` shows those that are left; what was stored is none any more.`,
          },
        );
      if (letters.length === 0) return { stored: 0, skipped: 0, failed: 0, through: last, until: last, isMore: false };
      const result = await recompute(parts, environment, record.id, defined, letters);
      changed(environment, record.id);
      return { ...result, through, until: last, isMore };
    },
  };
}

/** Computes dead letters again, one by one where a resolver takes messages that came together. */
async function recompute(
  parts: StreamsParts,
  environment: EnvironmentRecord,
  streamId: string,
  defined: LiveStream,
  letters: readonly DeadLetter[],
): Promise<Pick<Replayed, "stored" | "skipped" | "failed">> {
  const whole = letters.filter(({ size, value }) => (value?.byteLength ?? 0) === size);
  const deployment = await parts.stepOf(defined);
  const sum = { stored: 0, skipped: 0, failed: letters.length - whole.length };
  try {
    for (const part of defined.resolver.batches ? whole.map((letter) => [letter]) : [whole]) {
      const { failed, skipped, stored } = await recomputeTogether(parts, onlineScope(environment.id, ""), streamId, deployment, part);
      sum.stored += stored;
      sum.skipped += skipped;
      sum.failed += failed;
    }
    return sum;
  } finally {
    deployment.release();
  }
}

/** Computes dead letters again. The commit that folds them marks each, so that it counts once. */
async function recomputeTogether(
  { now, streams, tiles }: StreamsParts,
  scope: string,
  streamId: string,
  { computer, folding, pool, store: storeRows }: StepDeployment,
  letters: readonly DeadLetter[],
): Promise<Pick<Replayed, "stored" | "skipped" | "failed">> {
  const store = await tiles();
  const messages = letters.map(({ key, offset, partition, timestamp, value }) => ({
    key,
    offset,
    partition,
    timestamp,
    value,
    headers: [],
  }));
  const computed = await computer.compute(messages, pool, now());
  const { columns, messages: sound, refused, rows } = computed;
  const places = new Map(letters.map((letter) => [`${letter.partition}/${letter.offset}`, letter.seq]));
  const seqOf = ({ offset, partition }: ReadPosition): number => places.get(`${partition}/${offset}`) as number;
  const soundSeqs = sound.map(seqOf);
  while (rows.keys.length > 0 && !(await storeRows(computed)));
  const marker = (seq: number) => ({
    streamId: `${streamId}/${seq}`,
    partition: 0,
    offset: 1n,
    watermark: undefined,
    expected: undefined,
  });
  /** Folds rows, which are those of the letters with the numbers. */
  const fold = (seqs: readonly number[], from: number, until: number): Promise<boolean> => {
    const part = new Map([...columns].map(([fqn, values]) => [fqn, values.slice(from, until)]));
    const { tiles: deltas } = folding.deltas(rows.namespace, { rows: until - from, columns: part }, BigInt(Math.round(now())) * 1000n);
    return store.commit(scope, { deltas, steps: seqs.map(marker), guard: folding.guard }, folding.merge);
  };
  let before = 0;
  if (sound.length > 0 && !(await fold(soundSeqs, 0, rows.keys.length))) {
    if (sound.length === 1) before++;
    else for (const [row, seq] of soundSeqs.entries()) if (!(await fold([seq], row, row + 1))) before++;
  }
  const failedSeqs = refused.map(({ message }) => seqOf(message));
  const done = letters.map(({ seq }) => seq).filter((seq) => !failedSeqs.includes(seq));
  if (refused.length > 0)
    await streams.addLetters(
      refused.map((refusal) => letterOf(streamId, refusal)),
      LETTER_BOUNDS,
    );
  await streams.removeLetters(streamId, done);
  await store.forgetStreams(
    scope,
    soundSeqs.map((seq) => marker(seq).streamId),
  );
  return { stored: sound.length - before, skipped: done.length - sound.length + before, failed: refused.length };
}

/** Refuses what would count in the tiles of this node and not in those of another. */
function refuseOther({ name }: StreamRecord, other: OtherNode | undefined): void {
  if (!other) return;
  throw new Failure("failed_precondition", `The position of the stream '${name}' lies with ${nodeText(other)}.`, {
    hint: other.url === undefined ? `Otherwise ${GONE_HOME}.` : "Ask there.",
  });
}

function newStreamId(now: () => number): () => string {
  return () => newId("str", now());
}

function stateOf(
  { failure, isPaused }: StreamRecord,
  live: LiveStream | undefined,
  problem: string,
  partitions: readonly PartitionStanding[],
): Pick<StreamStanding, "state" | "problem"> {
  if (!live) return { state: "inactive", problem: "" };
  if (isPaused) return { state: "paused", problem };
  if (failure?.deploymentId === live.deploymentId) return { state: "failed", problem: failure.reason };
  const other = problem === failure?.reason ? "" : problem;
  if (other !== "") return { state: "retrying", problem: other };
  return { state: partitions.every(({ node }) => node === "") ? "starting" : "running", problem: "" };
}

async function movesOf({ topic, topics }: OpenTopic, target: SeekTarget, wanted: readonly number[]): Promise<readonly ReadPosition[]> {
  const all = await topics.describe(topic, AbortSignal.timeout(TOPIC_MS));
  const unknown = wanted.find((partition) => !all.some((end) => end.partition === partition));
  if (unknown !== undefined) throw new Failure("invalid_argument", `Topic '${topic}' has no partition ${unknown}: it has ${all.length}.`);
  const ends = wanted.length === 0 ? all : all.filter(({ partition }) => wanted.includes(partition));
  switch (target.to) {
    case "earliest":
    case "latest": {
      const { to } = target;
      return ends.map((end) => ({ partition: end.partition, offset: end[to] }));
    }
    case "time": {
      const numbers = new Set(ends.map(({ partition }) => partition));
      return (await topics.offsetsAt(topic, target.time, AbortSignal.timeout(TOPIC_MS))).filter(({ partition }) => numbers.has(partition));
    }
    case "offset": {
      const beyond = ends.find(({ earliest, latest }) => target.offset < earliest || target.offset > latest);
      if (beyond)
        throw new Failure(
          "invalid_argument",
          `Partition ${beyond.partition} of topic '${topic}' holds the offsets ${beyond.earliest} to ${beyond.latest}, not ${target.offset}.`,
        );
      return ends.map(({ partition }) => ({ partition, offset: target.offset }));
    }
  }
}
