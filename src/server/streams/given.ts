/** What the body of a stream gives of messages, before it is checked against the features. */

import type { FeatureSet } from "../../../gen/svc/v1/graph_pb.ts";
import { errorText } from "../../domain/error-text.ts";
import { type FeatureValue, TypeMismatch } from "../../domain/value.ts";
import type { PythonPool } from "../python/pool.ts";
import type { DeadLetterStage } from "../stores/metadata/streams.ts";
import type { TopicMessage } from "../topics/topics.ts";
import { fieldReader } from "./message-fields.ts";

/** A message that gives no row. */
export interface Refusal {
  readonly message: TopicMessage;
  readonly stage: DeadLetterStage;
  readonly reason: string;
  /** The same for messages that fail in the same way. */
  readonly way: string;
}

/** A call that computed nothing, for a reason that may be one of its messages. */
export class CallBroken extends Error {
  override readonly name = "CallBroken";
}

/** Values of messages as a body gave them. */
export interface Given {
  /** By output, a value for each message. */
  readonly columns: Readonly<Record<string, readonly unknown[]>>;
  readonly refusals: ReadonlyMap<number, Omit<Refusal, "message">>;
  readonly skipped: ReadonlySet<number>;
  /** Values that broke functions of the project that only count them, by feature. */
  readonly counted: Readonly<Record<string, number>>;
}

/** Rows of messages that came together. */
export interface GivenRows extends Given {
  /** Values by output, one for each row; the refusals are of messages that could not be read. */
  readonly rows: number;
  /** Why there are no rows, if it is not a message's own fault. */
  readonly failure: Omit<Refusal, "message"> | undefined;
}

/** What bodies may use. */
export interface GivingContext {
  readonly pool: PythonPool;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly signal: AbortSignal | undefined;
}

/** Computes values of messages that have bytes: of each its own, or rows of all. */
export type Giver<T extends Given> = (messages: readonly TopicMessage[], context: GivingContext) => Promise<T>;

/** Most rows that messages which came together give. */
export const MAX_ROWS = 100_000;

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Bytes as text; undefined when they are none. */
export function textOf(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** The fields of messages, by columns. */
export interface ReadFields {
  /** Values by field, one for each message that could be read. */
  readonly fields: ReadonlyMap<string, readonly FeatureValue[]>;
  /** Which messages those are. */
  readonly read: readonly number[];
  readonly refusals: Map<number, Omit<Refusal, "message">>;
}

/** The reader of messages as the fields of a class. */
export function fieldsReader(set: FeatureSet): (messages: readonly TopicMessage[]) => ReadFields {
  const readOne = fieldReader(set);
  const names = set.features.map(({ name }) => name);
  return (messages) => {
    const refusals: ReadFields["refusals"] = new Map();
    const fields = new Map<string, FeatureValue[]>(names.map((name) => [name, []]));
    const read: number[] = [];
    for (const [row, { value }] of messages.entries()) {
      try {
        const text = value && textOf(value);
        if (text === undefined) throw new TypeMismatch("a JSON object", "bytes that are no UTF-8");
        const found = readOne(text);
        for (const name of names) fields.get(name)?.push(found.get(name) ?? null);
        read.push(row);
      } catch (error) {
        const reason = error instanceof SyntaxError ? `it is no JSON: ${errorText(error)}` : errorText(error);
        const way = error instanceof TypeMismatch ? `${error.wanted} ${error.at}` : "no JSON";
        refusals.set(row, { stage: "parse", reason, way: `parse ${way}` });
      }
    }
    return { fields, read, refusals };
  };
}
