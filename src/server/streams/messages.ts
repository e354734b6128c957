/** What becomes of messages: rows of a class, or reasons why they give none. */

import { create } from "@bufbuild/protobuf";
import { ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import { GraphSchema, type MessageExpressions, type StreamResolver } from "../../../gen/svc/v1/graph_pb.ts";
import { GraphIndex } from "../../domain/graph-index.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { formatMicros, parseInstant } from "../../domain/timestamp.ts";
import { type FeatureValue, TypeMismatch } from "../../domain/value.ts";
import { compileExpression } from "../expressions/compile.ts";
import type { PythonPool, ResolverResult } from "../python/pool.ts";
import type { NamespaceInfo, ScalarInfo } from "../query/graph/index-types.ts";
import { storeKey } from "../stores/online/store.ts";
import type { TopicMessage } from "../topics/topics.ts";
import type { TypedRows } from "../value-uploads/typed-rows.ts";
import type { VersionedDeployment } from "../value-uploads/upload-deployment.ts";
import { plannedFeature } from "../value-uploads/upload-plan.ts";
import {
  CallBroken,
  fieldsReader,
  type Given,
  type GivenRows,
  type Giver,
  type GivingContext,
  MAX_ROWS,
  type Refusal,
  textOf,
} from "./given.ts";
import { type StatementEngine, statementGiver } from "./statement-body.ts";

/** Longest message that is computed, in bytes of its value. */
export const MAX_MESSAGE_BYTES = 1_048_576;
/** How far ahead of the clock a message's time may be, in milliseconds: clocks differ. */
const AHEAD_MS = 60_000;
/**
 * Messages that fail in the same way, one after another, from which on the fault is not theirs: the
 * stream stops.
 */
export const FAILURES_IN_A_ROW = 100;
/** Milliseconds for a message of a resolver that states no timeout, and most of a call. */
const MESSAGE_TIMEOUT_MS = 10_000;
const MAX_CALL_MS = 120_000;

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
  /** Values of the rows that broke validations which only count them, by feature. */
  readonly counted: ReadonlyMap<string, number>;
}

/** Computes rows of messages by a resolver of a deployment. */
export class MessageComputer {
  readonly namespace: NamespaceInfo;
  readonly #outputs: readonly ScalarInfo[];
  readonly #give: Giver<Given> | undefined;
  readonly #giveRows: Giver<GivenRows> | undefined;
  readonly #planned: ReadonlyMap<ScalarInfo, ReturnType<typeof plannedFeature>>;

  constructor(
    readonly resolver: StreamResolver,
    deployment: VersionedDeployment,
    tables: () => Promise<StatementEngine>,
  ) {
    const { scalars, namespaces } = deployment.index;
    this.#outputs = resolver.outputs.map((fqn) => scalars.get(fqn) as ScalarInfo);
    this.namespace = namespaces.get(this.#outputs[0]?.namespace ?? "") as NamespaceInfo;
    this.#planned = new Map(this.#outputs.map((feature) => [feature, plannedFeature({ column: 0, feature }, "both", deployment)]));
    const { batches, body } = resolver;
    if (body.case === "expressions") this.#give = expressionGiver(body.value, this.#outputs);
    else if (body.case === "statement")
      this.#giveRows = statementGiver(resolver, body.value, { engine: tables, outputs: this.#outputs, timeoutMs: timeoutOf(resolver) });
    else if (batches) this.#giveRows = pythonRowsGiver(resolver);
    else this.#give = pythonGiver(resolver);
  }

  /** Whether a pool of workers is needed. */
  get needsPython(): boolean {
    return this.resolver.body.case === "python";
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
    const context = { pool, now, signal };
    if (this.#giveRows) return this.#computeRows(messages, full, refused, this.#giveRows, context);
    const given: Given = full.length === 0 || !this.#give ? NOTHING : await this.#give(full, context);
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
    return this.#finish(
      messages.length,
      taken,
      values,
      times,
      refused,
      tombstones + given.skipped.size,
      new Map(Object.entries(given.counted)),
    );
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
    give: Giver<GivenRows>,
    context: GivingContext,
  ): Promise<ComputedMessages> {
    const values = new Map<ScalarInfo, FeatureValue[]>(this.#outputs.map((feature) => [feature, []]));
    const times: number[] = [];
    const taken: TopicMessage[] = [];
    const skipped: TopicMessage[] = messages.filter(({ value }) => value === undefined);
    const counted = new Map<string, number>();
    let streak = { way: "", messages: 0 };
    let tried = messages.length;
    const take = async (part: readonly TopicMessage[]): Promise<void> => {
      if (part.length === 0 || streak.messages >= FAILURES_IN_A_ROW) return;
      context.signal?.throwIfAborted();
      const given = await give(part, context);
      for (const [row, refusal] of given.refusals) refused.push({ message: part[row] as TopicMessage, ...refusal });
      for (const row of given.skipped) skipped.push(part[row] as TopicMessage);
      const read = part.filter((_, row) => !given.refusals.has(row) && !given.skipped.has(row));
      const [first, ...others] = read;
      if (!first) return;
      const failure = given.failure ?? this.#takeRows(read, given, context.now, values, times);
      if (!failure) {
        taken.push(...read);
        for (const [fqn, count] of Object.entries(given.counted)) counted.set(fqn, (counted.get(fqn) ?? 0) + count);
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
    return this.#finish(tried, taken, values, times, told, skipped.filter((message) => among.has(message)).length, counted);
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
    counted: Map<string, number>,
  ): ComputedMessages {
    refused.sort((a, b) => (a.message.offset < b.message.offset ? -1 : 1));
    for (const [{ fqn, softRules }, column] of values) {
      const broken = softRules ? column.filter((value) => value !== null && softRules(value) !== undefined).length : 0;
      if (broken > 0) counted.set(fqn, (counted.get(fqn) ?? 0) + broken);
    }
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
      counted,
    };
  }
}

const NOTHING: Given = { columns: {}, refusals: new Map(), skipped: new Set(), counted: {} };

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

function timeoutOf({ timeout }: StreamResolver): number {
  return timeout ? durationToMs(timeout) : MESSAGE_TIMEOUT_MS;
}

/** Has Python read the messages and call the function, once for each or once for all. */
async function called(resolver: StreamResolver, messages: readonly TopicMessage[], pool: PythonPool): Promise<ResolverResult> {
  const timeoutMs = timeoutOf(resolver);
  const result = await pool.call({
    resolver: resolver.fqn,
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
function pythonRowsGiver(resolver: StreamResolver): Giver<GivenRows> {
  return async (messages, { pool }) => {
    const { counted = {}, errors, groups, skipped } = await called(resolver, messages, pool);
    const unread = errors.filter(({ code }) => code === ErrorCode.PARSE_FAILED);
    const raised = errors.find(({ code }) => code !== ErrorCode.PARSE_FAILED);
    const rows = groups?.offsets.at(-1) ?? 0;
    const failure: GivenRows["failure"] = raised
      ? refusalOf(raised)
      : rows > MAX_ROWS
        ? { stage: "resolver", way: "rows", reason: `it gives ${rows} rows, and messages that came together at most ${MAX_ROWS}` }
        : undefined;
    return {
      ...{ rows, failure, counted, columns: groups?.columns ?? {} },
      refusals: new Map(unread.map((error) => [error.row, refusalOf(error)])),
      skipped: new Set(skipped ?? []),
    };
  };
}

/** Has Python compute the row of each message. */
function pythonGiver(resolver: StreamResolver): Giver<Given> {
  return async (messages, { pool }) => {
    const result = await called(resolver, messages, pool);
    return {
      columns: result.columns,
      refusals: new Map(result.errors.map((error) => [error.row, refusalOf(error)])),
      skipped: new Set(result.skipped ?? []),
      counted: result.counted ?? {},
    };
  };
}

function refusalOf({ code, exception, message }: ResolverResult["errors"][number]): Omit<Refusal, "message"> {
  const stage = code === ErrorCode.PARSE_FAILED ? "parse" : "resolver";
  return { stage, reason: message, way: `${stage} ${exception?.kind ?? ""} ${exception?.file ?? ""}:${exception?.line ?? 0}` };
}

/** Computes expressions of the fields of messages. */
function expressionGiver({ message: set, outputs: expressions }: MessageExpressions, outputs: readonly ScalarInfo[]): Giver<Given> {
  if (!set) throw new Error("expressions without a message");
  const read = fieldsReader(set);
  const index = new GraphIndex(create(GraphSchema, { featureSets: [set] }));
  const compiled = outputs.map((feature) => {
    const expression = expressions[feature.fqn];
    if (!expression) throw new Error(`${feature.fqn} has no expression`);
    return { feature, ...compileExpression(expression, { index, set }, { type: feature.dtype }) };
  });
  return async (messages, { now }) => {
    const { fields, read: rows, refusals } = read(messages);
    const columns: Record<string, (FeatureValue | undefined)[]> = {};
    for (const { feature, evaluate } of compiled) {
      const { errors, values } = evaluate({ rows: rows.length, columns: fields }, { nowMicros: BigInt(Math.round(now)) * 1000n });
      const column = new Array<FeatureValue | undefined>(messages.length).fill(undefined);
      for (const [place, row] of rows.entries()) {
        column[row] = values[place];
        const problem = errors.get(place);
        if (problem !== undefined && !refusals.has(row))
          refusals.set(row, { stage: "resolver", reason: `${feature.fqn}: ${problem}`, way: `${feature.fqn} ${problem}` });
      }
      columns[feature.fqn] = column;
    }
    return { columns, refusals, skipped: new Set(), counted: {} };
  };
}
