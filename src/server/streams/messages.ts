/** What becomes of messages: rows of a class, or reasons why they give none. */

import { create } from "@bufbuild/protobuf";
import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { GraphSchema, type StreamResolver } from "../../../gen/svc/v1/graph_pb.ts";
import { errorText } from "../../domain/error-text.ts";
import { GraphIndex } from "../../domain/graph-index.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { formatMicros, parseInstant } from "../../domain/timestamp.ts";
import { type FeatureValue, TypeMismatch } from "../../domain/value.ts";
import { compileExpression } from "../expressions/compile.ts";
import type { PythonPool, ResolverResult } from "../python/pool.ts";
import type { NamespaceInfo, ScalarInfo } from "../query/graph/index-types.ts";
import type { DeadLetterStage } from "../stores/metadata/streams.ts";
import { storeKey } from "../stores/online/store.ts";
import type { TopicMessage } from "../topics/topics.ts";
import type { TypedRows } from "../value-uploads/typed-rows.ts";
import type { VersionedDeployment } from "../value-uploads/upload-deployment.ts";
import { plannedFeature } from "../value-uploads/upload-plan.ts";
import { fieldReader } from "./message-fields.ts";

/** Longest message that is computed, in bytes of its value. */
export const MAX_MESSAGE_BYTES = 1_048_576;
/** How far ahead of the clock a message's time may be, in milliseconds: clocks differ. */
const AHEAD_MS = 60_000;
/**
 * Messages that fail in the same way, one after another, from which on the fault is not theirs: the
 * stream stops.
 */
export const FAILURES_IN_A_ROW = 100;
/** Most rows that messages which came together give. */
const MAX_ROWS = 100_000;
/** Milliseconds for a message of a resolver that states no timeout, and most of a call. */
const MESSAGE_TIMEOUT_MS = 10_000;
const MAX_CALL_MS = 120_000;

/** A message that gives no row. */
export interface Refusal {
  readonly message: TopicMessage;
  readonly stage: DeadLetterStage;
  readonly reason: string;
  /** The same for messages that fail in the same way. */
  readonly way: string;
}

/** What became of messages. */
export interface ComputedMessages {
  /** Number of messages from the first on that were computed; no others are told of below. */
  readonly tried: number;
  /** The messages that gave rows, in their order. */
  readonly messages: readonly TopicMessage[];
  /** Their rows: one of each, in the same order; of a resolver of batches, any number. */
  readonly rows: TypedRows;
  /** All outputs of the rows by FQN, with their times under the class's feature time. */
  readonly columns: ReadonlyMap<string, readonly FeatureValue[]>;
  readonly refused: readonly Refusal[];
  /** Number of messages that were left out on purpose. */
  readonly skipped: number;
}

/** A call that computed nothing, for a reason that may be one of its messages. */
export class CallBroken extends Error {
  override readonly name = "CallBroken";
}

/** Values of messages as a resolver gave them. */
interface Given {
  /** By output, a value for each message. */
  readonly columns: Readonly<Record<string, readonly unknown[]>>;
  readonly refusals: ReadonlyMap<number, Omit<Refusal, "message">>;
  readonly skipped: ReadonlySet<number>;
}

/** Rows of messages as a resolver of batches gave them. */
interface GivenRows extends Given {
  /** Values by output, one for each row; the refusals are of messages that could not be read. */
  readonly rows: number;
  /** Why there are no rows, if it is not a message's own fault. */
  readonly failure: Omit<Refusal, "message"> | undefined;
}

/** Computes values of messages that have bytes. */
type Giver = (messages: readonly TopicMessage[], pool: PythonPool, nowMs: number) => Promise<Given>;

/** Computes rows of messages by a resolver of a deployment. */
export class MessageComputer {
  readonly namespace: NamespaceInfo;
  readonly #outputs: readonly ScalarInfo[];
  readonly #give: Giver;
  readonly #planned: ReadonlyMap<ScalarInfo, ReturnType<typeof plannedFeature>>;

  constructor(
    readonly resolver: StreamResolver,
    deployment: VersionedDeployment,
  ) {
    const { scalars, namespaces } = deployment.index;
    this.#outputs = resolver.outputs.map((fqn) => scalars.get(fqn) as ScalarInfo);
    this.namespace = namespaces.get(this.#outputs[0]?.namespace ?? "") as NamespaceInfo;
    this.#planned = new Map(this.#outputs.map((feature) => [feature, plannedFeature({ column: 0, feature }, "both", deployment)]));
    this.#give = resolver.body.case === "expressions" ? expressionGiver(resolver, this.#outputs) : pythonGiver(resolver);
  }

  /** Whether a pool of workers is needed. */
  get needsPython(): boolean {
    return this.resolver.body.case !== "expressions";
  }

  /**
   * Computes messages.
   * @param now epoch milliseconds
   * @param signal ends it between two calls
   * @throws CallBroken
   */
  async compute(messages: readonly TopicMessage[], pool: PythonPool, now: number, signal?: AbortSignal): Promise<ComputedMessages> {
    const refused: Refusal[] = [];
    const full: TopicMessage[] = [];
    for (const message of messages) {
      const bytes = message.value?.byteLength;
      if (bytes === undefined) continue;
      if (bytes <= MAX_MESSAGE_BYTES) full.push(message);
      else
        refused.push({ message, stage: "parse", way: "size", reason: `it has ${bytes} bytes, and a message at most ${MAX_MESSAGE_BYTES}` });
    }
    const tombstones = messages.length - full.length - refused.length;
    if (this.resolver.batches) return this.#computeRows(messages, full, refused, pool, now, signal);
    const given: Given = full.length === 0 ? NOTHING : await this.#give(full, pool, now);
    const kept: number[] = [];
    const values = new Map<ScalarInfo, FeatureValue[]>(this.#outputs.map((feature) => [feature, []]));
    const times: number[] = [];
    for (const [row, message] of full.entries()) {
      if (given.skipped.has(row)) continue;
      const refusal = given.refusals.get(row) ?? this.#take(row, message, given, now, values, times);
      if (refusal) refused.push({ message, ...refusal });
      else kept.push(row);
    }
    const taken = kept.map((row) => full[row] as TopicMessage);
    return this.#finish(messages.length, taken, values, times, refused, tombstones + given.skipped.size);
  }

  /**
   * Computes the rows of messages together. When that fails they are computed in halves, down to
   * single messages, so that the others are stored of which one is at fault; not on and on when all
   * of them fail.
   */
  async #computeRows(
    messages: readonly TopicMessage[],
    full: readonly TopicMessage[],
    refused: Refusal[],
    pool: PythonPool,
    now: number,
    signal: AbortSignal | undefined,
  ): Promise<ComputedMessages> {
    const values = new Map<ScalarInfo, FeatureValue[]>(this.#outputs.map((feature) => [feature, []]));
    const times: number[] = [];
    const taken: TopicMessage[] = [];
    const skipped: TopicMessage[] = messages.filter(({ value }) => value === undefined);
    let streak = { way: "", messages: 0 };
    let tried = messages.length;
    const take = async (part: readonly TopicMessage[]): Promise<void> => {
      if (part.length === 0 || streak.messages >= FAILURES_IN_A_ROW) return;
      signal?.throwIfAborted();
      const given = await callBatch(this.resolver, part, pool);
      for (const [row, refusal] of given.refusals) refused.push({ message: part[row] as TopicMessage, ...refusal });
      for (const row of given.skipped) skipped.push(part[row] as TopicMessage);
      const read = part.filter((_, row) => !given.refusals.has(row) && !given.skipped.has(row));
      const [first, ...others] = read;
      if (!first) return;
      const failure = given.failure ?? this.#takeRows(read, given, now, values, times);
      if (!failure) {
        taken.push(...read);
        streak = { way: "", messages: 0 };
      } else if (others.length === 0) {
        refused.push({ message: first, ...failure });
        streak = { way: failure.way, messages: streak.way === failure.way ? streak.messages + 1 : 1 };
        if (streak.messages >= FAILURES_IN_A_ROW) tried = messages.indexOf(first) + 1;
      } else {
        const half = Math.ceil(read.length / 2);
        await take(read.slice(0, half));
        await take(read.slice(half));
      }
    };
    await take(full);
    const among = new Set(messages.slice(0, tried));
    const told = refused.filter(({ message }) => among.has(message));
    return this.#finish(tried, taken, values, times, told, skipped.filter((message) => among.has(message)).length);
  }

  /**
   * Takes all rows of messages, or says why one of them cannot be stored. Without a time of its own
   * a row has that of the latest message.
   */
  #takeRows(
    messages: readonly TopicMessage[],
    given: GivenRows,
    now: number,
    values: ReadonlyMap<ScalarInfo, FeatureValue[]>,
    times: number[],
  ): Omit<Refusal, "message"> | undefined {
    const latest = messages.reduce((a, b) => (b.timestamp > a.timestamp ? b : a));
    const ownValues = new Map<ScalarInfo, FeatureValue[]>(this.#outputs.map((feature) => [feature, []]));
    const ownTimes: number[] = [];
    for (let row = 0; row < given.rows; row++) {
      const refusal = this.#take(row, latest, given, now, ownValues, ownTimes);
      if (refusal) return refusal;
    }
    for (const [feature, column] of ownValues) for (const value of column) values.get(feature)?.push(value);
    for (const time of ownTimes) times.push(time);
    return undefined;
  }

  /** Takes the values of a message, or says why not. */
  #take(
    row: number,
    message: TopicMessage,
    given: Given,
    now: number,
    values: ReadonlyMap<ScalarInfo, FeatureValue[]>,
    times: number[],
  ): Omit<Refusal, "message"> | undefined {
    const taken: FeatureValue[] = [];
    let time = message.timestamp;
    for (const feature of this.#outputs) {
      const value = checked(feature, given.columns[feature.fqn]?.[row]);
      if (typeof value === "object" && value !== null && value instanceof RowRefused)
        return { stage: "row", way: `${feature.fqn} ${value.way}`, reason: value.message };
      taken.push(value);
      if (feature === this.namespace.featureTime && typeof value === "string") time = timeOf(value);
    }
    if (time > now + AHEAD_MS) return { stage: "row", way: "future", reason: `its time is in the future: ${new Date(time).toISOString()}` };
    for (const [place, feature] of this.#outputs.entries()) values.get(feature)?.push(taken[place] as FeatureValue);
    times.push(time);
    return undefined;
  }

  #finish(
    tried: number,
    messages: readonly TopicMessage[],
    values: ReadonlyMap<ScalarInfo, readonly FeatureValue[]>,
    times: readonly number[],
    refused: Refusal[],
    skipped: number,
  ): ComputedMessages {
    refused.sort((a, b) => (a.message.offset < b.message.offset ? -1 : 1));
    const { primaryKey, featureTime, name } = this.namespace;
    const columns = new Map([...values].map(([feature, column]) => [feature.fqn, column]));
    if (featureTime && !columns.has(featureTime.fqn))
      columns.set(
        featureTime.fqn,
        times.map((time) => formatMicros(BigInt(Math.round(time * 1000)))),
      );
    return {
      tried,
      messages,
      rows: {
        namespace: name,
        keys: (columns.get(primaryKey?.fqn ?? "") ?? []).map(storeKey),
        observedAt: times,
        knownAt: undefined,
        columns: [...this.#planned].flatMap(([feature, planned]) =>
          feature.primary ? [] : [{ ...planned, values: values.get(feature) ?? [] }],
        ),
      },
      columns,
      refused,
      skipped,
    };
  }
}

const NOTHING: Given = { columns: {}, refusals: new Map(), skipped: new Set() };

/** A value that a feature cannot have. */
class RowRefused {
  constructor(
    readonly message: string,
    readonly way: string,
  ) {}
}

function checked(feature: ScalarInfo, value: unknown): FeatureValue | RowRefused {
  if (value === null || value === undefined) {
    if (feature.primary) return new RowRefused(`it has no ${feature.fqn}, the primary key`, "null");
    if (feature.nullable) return null;
    if (feature.defaultValue !== undefined) return feature.defaultValue;
    return new RowRefused(`${feature.fqn}: expected ${feature.typeName}, got null, and the feature is not optional`, "null");
  }
  try {
    return feature.strict(value);
  } catch (error) {
    if (!(error instanceof TypeMismatch)) throw error;
    return new RowRefused(`${feature.fqn}: ${error.message}`, `type ${error.wanted}`);
  }
}

/** Epoch milliseconds of a time in its canonical text. */
function timeOf(text: string): number {
  return Number(parseInstant(text)?.micros ?? 0n) / 1000;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Has Python read the messages and call the function, once for each or once for all. */
async function called({ fqn, timeout }: StreamResolver, messages: readonly TopicMessage[], pool: PythonPool): Promise<ResolverResult> {
  const timeoutMs = timeout ? durationToMs(timeout) : MESSAGE_TIMEOUT_MS;
  const result = await pool.call({
    resolver: fqn,
    rows: messages.length,
    columns: { message: messages.map(({ value }) => (value && textOf(value)) ?? value ?? null) },
    now: [],
    deadlineMs: Math.max(timeoutMs, Math.min(timeoutMs * messages.length, MAX_CALL_MS)),
    context: { queryId: "", traceId: "", tags: [], queryContext: {} },
  });
  if (result.whole === "unavailable") throw new Error(result.errors[0]?.message ?? "the workers are gone");
  if (result.whole && messages.length > 1) throw new CallBroken(result.errors[0]?.message ?? result.whole);
  return result;
}

/** Has a function take messages that came together. */
async function callBatch(resolver: StreamResolver, messages: readonly TopicMessage[], pool: PythonPool): Promise<GivenRows> {
  const { errors, groups, skipped } = await called(resolver, messages, pool);
  const unread = errors.filter(({ code }) => code === ErrorCode.PARSE_FAILED);
  const raised = errors.find(({ code }) => code !== ErrorCode.PARSE_FAILED);
  const rows = groups?.offsets.at(-1) ?? 0;
  const failure: GivenRows["failure"] = raised
    ? refusalOf(raised)
    : rows > MAX_ROWS
      ? { stage: "resolver", way: "rows", reason: `it gives ${rows} rows, and messages that came together at most ${MAX_ROWS}` }
      : undefined;
  return {
    ...{ rows, failure, columns: groups?.columns ?? {} },
    refusals: new Map(unread.map((error) => [error.row, refusalOf(error)])),
    skipped: new Set(skipped ?? []),
  };
}

/** Has Python compute the row of each message. */
function pythonGiver(resolver: StreamResolver): Giver {
  return async (messages, pool) => {
    const result = await called(resolver, messages, pool);
    return {
      columns: result.columns,
      refusals: new Map(result.errors.map((error) => [error.row, refusalOf(error)])),
      skipped: new Set(result.skipped ?? []),
    };
  };
}

function refusalOf({ code, exception, message }: ResolverResult["errors"][number]): Omit<Refusal, "message"> {
  const stage = code === ErrorCode.PARSE_FAILED ? "parse" : "resolver";
  return { stage, reason: message, way: `${stage} ${exception?.kind ?? ""} ${exception?.file ?? ""}:${exception?.line ?? 0}` };
}

/** Computes expressions of the fields of messages. */
function expressionGiver({ body }: StreamResolver, outputs: readonly ScalarInfo[]): Giver {
  if (body.case !== "expressions" || !body.value.message) throw new Error("a stream without a body");
  const { message: set, outputs: expressions } = body.value;
  const read = fieldReader(set);
  const index = new GraphIndex(create(GraphSchema, { featureSets: [set] }));
  const compiled = outputs.map((feature) => {
    const expression = expressions[feature.fqn];
    if (!expression) throw new Error(`${feature.fqn} has no expression`);
    return { feature, ...compileExpression(expression, { index, set }, { type: feature.dtype }) };
  });
  const names = set.features.map(({ name }) => name);
  return async (messages, _pool, nowMs) => {
    const refusals = new Map<number, Omit<Refusal, "message">>();
    const fields = new Map<string, FeatureValue[]>(names.map((name) => [name, []]));
    const rows: number[] = [];
    for (const [row, { value }] of messages.entries()) {
      try {
        const text = value && textOf(value);
        if (text === undefined) throw new TypeMismatch("a JSON object", "bytes that are no UTF-8");
        const found = read(text);
        for (const name of names) fields.get(name)?.push(found.get(name) ?? null);
        rows.push(row);
      } catch (error) {
        const reason = error instanceof SyntaxError ? `it is no JSON: ${errorText(error)}` : errorText(error);
        const way = error instanceof TypeMismatch ? `${error.wanted} ${error.at}` : "no JSON";
        refusals.set(row, { stage: "parse", reason, way: `parse ${way}` });
      }
    }
    const columns: Record<string, (FeatureValue | undefined)[]> = {};
    for (const { feature, evaluate } of compiled) {
      const { errors, values } = evaluate({ rows: rows.length, columns: fields }, { nowMicros: BigInt(Math.round(nowMs)) * 1000n });
      const column = new Array<FeatureValue | undefined>(messages.length).fill(undefined);
      for (const [place, row] of rows.entries()) {
        column[row] = values[place];
        const problem = errors.get(place);
        if (problem !== undefined && !refusals.has(row))
          refusals.set(row, { stage: "resolver", reason: `${feature.fqn}: ${problem}`, way: `${feature.fqn} ${problem}` });
      }
      columns[feature.fqn] = column;
    }
    return { columns, refusals, skipped: new Set() };
  };
}
