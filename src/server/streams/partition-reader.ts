/**
 * Reading of one partition of a stream: messages are read, computed and stored in steps. A step is
 * written in this order: dead letters and rows, both of which may be written again; then, in one
 * commit of the tile store, the windows that it counts in and the position behind it. The commit
 * is refused unless the position is still where the step was read from, so that the messages of a
 * step count once, whoever dies or reads them too.
 */

import { errorText } from "../../domain/error-text.ts";
import type { Folding } from "../aggregates/folding.ts";
import type { PythonPool } from "../python/pool.ts";
import type { DeadLetterBounds, NewDeadLetter, PartitionKey, StreamStore } from "../stores/metadata/streams.ts";
import type { MergeStates, StreamPosition, Tile, TileStore } from "../stores/tiles/store.ts";
import { TopicError, type TopicMessage } from "../topics/topics.ts";
import { CallBroken, type Refusal } from "./given.ts";
import { type OpenTopic, withTopic } from "./live-streams.ts";
import { type ComputedMessages, FAILURES_IN_A_ROW, type MessageComputer } from "./messages.ts";

/** Messages and bytes of a step. */
const STEP_MESSAGES = 5_000;
const STEP_BYTES = 8 * 1_048_576;
/** Milliseconds to wait for a message. */
const WAIT_MS = 5_000;
/** Bounds of the dead letters of a stream. */
export const LETTER_BOUNDS: DeadLetterBounds = { most: 10_000, mostBytes: 32 * 1_048_576 };
/** Bytes of a dead letter's value and key that are kept. */
const MAX_LETTER_BYTES = 1_048_576;
const MAX_KEY_BYTES = 4_096;
/** Characters of a reason that are kept. */
const MAX_REASON = 2_000;
/** Pauses after what may pass by itself. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/** Windows that rows count in, see `aggregates/folding.ts`. */
export type KeptWindows = Pick<Folding, "deltas" | "guard" | "merge">;

/** A deployment as a step needs it. */
export interface StepDeployment {
  readonly id: string;
  readonly computer: MessageComputer;
  readonly folding: KeptWindows;
  /** How much older than the newest message one may be and still be folded, in milliseconds. */
  readonly latenessMs: number;
  readonly pool: PythonPool;
  /** Stores rows, durably; false when versions of features changed meanwhile. */
  store(computed: ComputedMessages): Promise<boolean>;
  release(): void;
}

/** What happened in a step, for metrics. */
export interface StepFacts {
  readonly messages: number;
  readonly rows: number;
  readonly refused: number;
  readonly late: number;
  readonly skipped: number;
  /** Stored values that broke validations which only count them, by feature. */
  readonly counted: ReadonlyMap<string, number>;
  /** Time of the oldest message of the step, epoch milliseconds; undefined = it has none. */
  readonly oldest: number | undefined;
}

/** What reading a partition needs. */
export interface PartitionReaderOptions {
  readonly key: PartitionKey;
  readonly open: () => Promise<OpenTopic>;
  /** Scope in the tile store. */
  readonly scope: string;
  readonly tiles: Pick<TileStore, "commit" | "positions">;
  readonly streams: Pick<StreamStore, "addLetters">;
  readonly deployment: () => Promise<StepDeployment>;
  /**
   * Whether messages that were just read are for this deployment; false, and the signal is aborted,
   * when another has taken over, which was live before some of them were pushed.
   */
  readonly isCurrent: () => boolean;
  readonly now: () => number;
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Says why nothing is read; empty = it is. */
  readonly note: (problem: string) => Promise<void>;
  /** Stops the stream. */
  readonly fail: (deploymentId: string, reason: string) => Promise<void>;
  readonly stepped: (facts: StepFacts) => void;
  readonly warn: (message: string, fields: Readonly<Record<string, string | number>>) => void;
  readonly signal: AbortSignal;
}

/** Messages that failed in the same way, one after another. */
interface Streak {
  readonly way: string;
  readonly messages: number;
}

const NO_STREAK: Streak = { way: "", messages: 0 };

/** Reads a partition until the signal, or until it fails for good. Never rejects. */
export async function readPartition(options: PartitionReaderOptions): Promise<void> {
  const { signal } = options;
  const reader = new PartitionReader(options);
  let said = "";
  for (let pauseMs = FIRST_PAUSE_MS; !signal.aborted; ) {
    try {
      await withTopic(options.open, async (opened) => {
        while (!signal.aborted && (await reader.step(opened))) {
          pauseMs = FIRST_PAUSE_MS;
          if (said !== "") await options.note("");
          said = "";
        }
      });
      return;
    } catch (error) {
      if (signal.aborted) return;
      const problem = errorText(error).slice(0, MAX_REASON);
      if (problem !== said) {
        options.warn("a partition of a stream could not be read on", { error: problem });
        await options.note(problem).catch(() => undefined);
      }
      said = problem;
      await options.pause(pauseMs, signal).catch(() => undefined);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }
}

class PartitionReader {
  #position: StreamPosition | undefined;
  #isKnown = false;
  #streak = NO_STREAK;
  /** Messages of a step: fewer after a call that was broken, perhaps by one of them. */
  #most = STEP_MESSAGES;

  constructor(readonly options: PartitionReaderOptions) {}

  /**
   * Reads and writes one step; false when the stream was stopped. Rejects when it can be tried
   * again.
   */
  async step(opened: OpenTopic): Promise<boolean> {
    const { isCurrent, key, scope, signal, tiles } = this.options;
    const { topic, topics } = opened;
    if (!this.#isKnown) {
      this.#position = (await tiles.positions(scope, key.streamId)).find(({ partition }) => partition === key.partition);
      this.#isKnown = true;
    }
    const from = this.#position?.offset ?? (await this.#earliest(opened));
    const batch = await topics.read(topic, [{ partition: key.partition, offset: from }], {
      maxMessages: this.#most,
      maxBytes: STEP_BYTES,
      waitMs: WAIT_MS,
      signal,
    });
    const [lost] = batch.lost;
    if (lost) return this.#skipLost(topic, from, lost.earliest);
    if (batch.messages.length === 0 || signal.aborted || !isCurrent()) {
      this.#isKnown = false;
      return true;
    }
    const deployment = await this.options.deployment();
    try {
      return await this.#write(batch.messages, deployment);
    } finally {
      deployment.release();
    }
  }

  async #earliest({ topic, topics }: OpenTopic): Promise<bigint> {
    const { key, signal } = this.options;
    const found = (await topics.describe(topic, signal)).find(({ partition }) => partition === key.partition);
    if (!found) throw new TopicError("missing", `topic '${topic}' has no partition ${key.partition} any more`);
    return found.earliest;
  }

  /** Goes on at the oldest message that is kept. */
  async #skipLost(topic: string, from: bigint, earliest: bigint): Promise<boolean> {
    const { key, warn } = this.options;
    warn("messages of a stream were removed before they were read, or the topic was made anew", {
      ...{ topic, partition: key.partition, from: String(from), on: String(earliest) },
    });
    await this.#commit([], earliest, this.#position?.watermark);
    return true;
  }

  async #write(batch: readonly TopicMessage[], deployment: StepDeployment): Promise<boolean> {
    const { now, signal, streams, stepped } = this.options;
    const computed = await deployment.computer.compute(batch, deployment.pool, now(), signal).catch((error: unknown) => {
      if (error instanceof CallBroken) this.#most = Math.max(1, Math.floor(batch.length / 16));
      throw error;
    });
    const messages = batch.slice(0, computed.tried);
    const streak = grown(this.#streak, messages, computed);
    if (streak.messages >= FAILURES_IN_A_ROW) {
      const reason = computed.refused.at(-1)?.reason ?? streak.way;
      await this.options.fail(deployment.id, `${streak.messages} messages in a row failed in the same way: ${reason}`.slice(0, MAX_REASON));
      return false;
    }
    if (computed.refused.length > 0) {
      await streams.addLetters(
        computed.refused.map((refusal) => letterOf(this.options.key.streamId, refusal)),
        LETTER_BOUNDS,
      );
    }
    if (computed.rows.keys.length > 0 && !(await deployment.store(computed))) return true;
    const { late, onTime, watermark } = this.#watched(computed, deployment.latenessMs);
    const { folding } = deployment;
    const nowMicros = BigInt(Math.round(now())) * 1000n;
    const deltas = onTime.rows === 0 ? [] : folding.deltas(computed.rows.namespace, onTime, nowMicros).tiles;
    const last = messages.at(-1) as TopicMessage;
    if (!(await this.#commit(deltas, last.offset + 1n, watermark, folding))) return true;
    this.#streak = streak;
    this.#most = Math.min(STEP_MESSAGES, this.#most * 4);
    stepped({
      ...{ messages: messages.length, rows: computed.rows.keys.length, refused: computed.refused.length, late, skipped: computed.skipped },
      counted: computed.counted,
      oldest: computed.messages.reduce<number | undefined>((least, { timestamp }) => Math.min(least ?? timestamp, timestamp), undefined),
    });
    return true;
  }

  /** The rows that are not too late, and the watermark behind them. */
  #watched({ columns, rows }: ComputedMessages, latenessMs: number) {
    let watermark = this.#position?.watermark;
    const kept: number[] = [];
    for (const [row, time] of rows.observedAt.entries()) {
      const micros = Math.round(time * 1000);
      if (watermark === undefined || micros >= watermark - latenessMs * 1000) kept.push(row);
      watermark = Math.max(watermark ?? micros, micros);
    }
    const all = kept.length === rows.keys.length;
    const of = <T>(values: readonly T[]): readonly T[] => (all ? values : kept.map((row) => values[row] as T));
    const onTime = { rows: kept.length, columns: new Map([...columns].map(([fqn, values]) => [fqn, of(values)])) };
    return { late: rows.keys.length - kept.length, onTime, watermark };
  }

  /** Moves on; false when somebody else did, and the position is to be read again. */
  async #commit(deltas: readonly Tile[], offset: bigint, watermark: number | undefined, folding?: KeptWindows): Promise<boolean> {
    const { key, scope, tiles } = this.options;
    const step = { ...key, offset, watermark, expected: this.#position?.offset };
    this.#isKnown = false;
    if (!(await tiles.commit(scope, { deltas, steps: [step], ...(folding && { guard: folding.guard }) }, folding?.merge ?? NO_MERGE)))
      return false;
    this.#position = { ...key, offset, watermark };
    this.#isKnown = true;
    return true;
  }
}

const NO_MERGE: MergeStates = (_, stored) => stored;

/** The streak behind messages, of which the last ones count that failed alike. */
function grown(before: Streak, messages: readonly TopicMessage[], { refused, messages: sound, skipped }: ComputedMessages): Streak {
  if (refused.length === 0) return sound.length + skipped === 0 ? before : NO_STREAK;
  const ways = new Map(refused.map(({ message, way }) => [message.offset, way]));
  let streak = before;
  for (const { offset, value } of messages) {
    const way = ways.get(offset);
    if (way === undefined) streak = value === undefined ? streak : NO_STREAK;
    else streak = { way, messages: way === streak.way ? streak.messages + 1 : 1 };
  }
  return streak;
}

/** A message as it is put aside. */
export function letterOf(streamId: string, { message, reason, stage }: Refusal): NewDeadLetter {
  const { key, offset, partition, timestamp, value } = message;
  const size = value?.byteLength ?? 0;
  return {
    ...{ streamId, partition, offset, size, stage, timestamp: Math.round(timestamp) },
    key: key && key.byteLength > MAX_KEY_BYTES ? key.slice(0, MAX_KEY_BYTES) : key,
    value: value && size > MAX_LETTER_BYTES ? value.slice(0, MAX_KEY_BYTES) : value,
    reason: reason.slice(0, MAX_REASON),
  };
}
