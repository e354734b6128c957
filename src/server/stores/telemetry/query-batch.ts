/**
 * Batches of queries for the thread that writes them. Their bodies are concatenated, in memory that
 * both threads see and that is used again: a new buffer for each batch costs more than what is
 * written into it. Origins are the same for most queries of a plan, and go as texts.
 */

import { emptyTexts, type PackedRecords, RecordReader, RecordWriter } from "../../thread/records.ts";
import type { Body, BodyEncoding, QueryLogEntry, QueryRunKind } from "./store.ts";

/**
 * A query without its bodies. The batch's bytes hold its request and response in this order, query
 * after query.
 */
export interface BatchedQuery extends Omit<QueryLogEntry, "request" | "response"> {
  readonly requestSize: number;
  /** Null when there is no response. */
  readonly responseSize: number | null;
}

/** Queries that are sent together. */
export interface QueryBatch {
  readonly queries: PackedRecords;
  readonly bodies: Uint8Array<SharedArrayBuffer>;
}

/** Size of a buffer for bodies, unless a batch needs more; untouched pages take no memory. */
const KEPT_BYTES = 4 * 1024 * 1024;
/** Most buffers that are kept for further batches. */
const MOST_KEPT = 4;
/** Most bytes of a UTF-16 unit in UTF-8. */
const BYTES_PER_UNIT = 3;
/** Texts that few queries have, by their columns. */
const SELDOM = ["branch", "queryName", "correlationId", "queryVersion", "errorCodes", "traceId"] as const;
const NO_TEXTS = emptyTexts(SELDOM);
/** What stands for null among numbers. */
const NULL = Number.NaN;

/** Collects queries into batches. */
export class QueryGatherer {
  readonly #writer = new RecordWriter();
  #size = 0;
  /** Buffers that no batch has. */
  readonly #free: Buffer<SharedArrayBuffer>[] = [];
  #bodies = buffer(KEPT_BYTES);
  #used = 0;

  /** Number of queries gathered. */
  get size(): number {
    return this.#size;
  }

  add(query: QueryLogEntry): void {
    const writer = this.#writer;
    writer.ownText(query.queryId);
    writer.text(11, query.environmentId);
    writer.text(12, query.deploymentId);
    writer.text(13, query.encoding);
    writer.text(14, query.kind);
    writer.text(15, query.planHash);
    writer.text(16, query.rootNamespace);
    writer.ownText(query.primaryKey);
    writer.text(17, query.origins);
    writer.text(18, query.agentId);
    writer.optionalText(19, query.secretKey);
    writer.optionalText(20, query.error);
    // In the order of SELDOM.
    writer.given(0, query.branch);
    writer.given(1, query.queryName);
    writer.given(2, query.correlationId);
    writer.given(3, query.queryVersion);
    writer.given(4, query.errorCodes);
    writer.given(5, query.traceId);
    writer.endOfGiven();
    writer.number(query.startedAt);
    writer.number(query.durationMs);
    writer.number(query.errorCount);
    writer.number(query.isNamed ? 1 : 0);
    writer.number(query.hitShare ?? NULL);
    writer.number(query.rows);
    writer.number(this.#append(query.request));
    writer.number(query.response === undefined ? NULL : this.#append(query.response));
    this.#size++;
  }

  /**
   * Returns the collected queries as a batch, and starts the next one. Who has written or lost the
   * batch gives it back with `release`.
   */
  take(): QueryBatch {
    const batch = { queries: this.#writer.take(), bodies: new Uint8Array(this.#bodies.buffer, 0, this.#used) };
    this.#size = 0;
    this.#used = 0;
    this.#bodies = this.#free.pop() ?? buffer(KEPT_BYTES);
    return batch;
  }

  /** Takes the memory of a batch back that nobody reads any more. */
  release({ bodies }: QueryBatch): void {
    if (bodies.buffer.byteLength === KEPT_BYTES && this.#free.length < MOST_KEPT) this.#free.push(Buffer.from(bodies.buffer));
  }

  /** Appends a body; returns its size in bytes. */
  #append(body: Body): number {
    const needed = this.#used + (typeof body === "string" ? body.length * BYTES_PER_UNIT : body.length);
    if (needed > this.#bodies.length) {
      const grown = buffer(Math.max(needed, this.#bodies.length * 2));
      grown.set(this.#bodies.subarray(0, this.#used));
      this.#bodies = grown;
    }
    const size = typeof body === "string" ? this.#bodies.write(body, this.#used) : body.length;
    if (typeof body !== "string") this.#bodies.set(body, this.#used);
    this.#used += size;
    return size;
  }
}

function buffer(bytes: number): Buffer<SharedArrayBuffer> {
  return Buffer.from(new SharedArrayBuffer(bytes));
}

/** The queries of a batch, in the order in which they were added. */
export function queriesOf({ queries }: QueryBatch): BatchedQuery[] {
  const read: BatchedQuery[] = [];
  for (const reader = new RecordReader(queries); !reader.isAtEnd; )
    read.push({
      queryId: reader.text(),
      environmentId: reader.text(),
      deploymentId: reader.text(),
      encoding: reader.text() as BodyEncoding,
      kind: reader.text() as QueryRunKind,
      planHash: reader.text(),
      rootNamespace: reader.text(),
      primaryKey: reader.text(),
      origins: reader.text(),
      agentId: reader.text(),
      secretKey: reader.optionalText(),
      error: reader.optionalText(),
      ...reader.given(SELDOM, NO_TEXTS),
      startedAt: reader.number(),
      durationMs: reader.number(),
      errorCount: reader.number(),
      isNamed: reader.number() === 1,
      hitShare: orNull(reader.number()),
      rows: reader.number(),
      requestSize: reader.number(),
      responseSize: orNull(reader.number()),
    });
  return read;
}

function orNull(number: number): number | null {
  return Number.isNaN(number) ? null : number;
}
