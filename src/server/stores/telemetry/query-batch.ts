/**
 * Batches of queries for the thread that writes them. Their bodies are concatenated, so that they
 * are transferred as one buffer and compressed as they are; the rest is one JSON text, which is
 * cheaper to pass between threads than objects.
 */

import type { Body, QueryLogEntry } from "./store.ts";

/**
 * A query without its bodies. The batch's bytes hold its request, response and origins in this
 * order, query after query.
 */
export interface BatchedQuery extends Omit<QueryLogEntry, "request" | "response" | "origins"> {
  readonly requestSize: number;
  /** Null when there is no response. */
  readonly responseSize: number | null;
  readonly originsSize: number;
}

/** Queries that are sent together. */
export interface QueryBatch {
  /** JSON of `BatchedQuery[]`. */
  readonly rows: string;
  readonly bodies: Uint8Array<ArrayBuffer>;
}

/** Size of the buffer for bodies, unless a batch needs more; untouched pages take no memory. */
const KEPT_BYTES = 1024 * 1024;
/** Most bytes of a UTF-16 unit in UTF-8. */
const BYTES_PER_UNIT = 3;

/** Collects queries into batches. */
export class QueryGatherer {
  #queries: QueryLogEntry[] = [];
  #bodies = Buffer.allocUnsafeSlow(KEPT_BYTES);
  #used = 0;

  /** Number of queries gathered. */
  get size(): number {
    return this.#queries.length;
  }

  add(query: QueryLogEntry): void {
    this.#queries.push(query);
  }

  /** Returns the collected queries as a batch, and starts the next one. */
  take(): QueryBatch {
    const rows = this.#queries.map(
      ({ request, response, origins, ...query }): BatchedQuery => ({
        ...query,
        requestSize: this.#append(request),
        responseSize: response === undefined ? null : this.#append(response),
        originsSize: this.#append(origins),
      }),
    );
    const batch = { rows: JSON.stringify(rows), bodies: new Uint8Array(this.#bodies.subarray(0, this.#used)) };
    this.#queries = [];
    this.#used = 0;
    if (this.#bodies.length > KEPT_BYTES) this.#bodies = Buffer.allocUnsafeSlow(KEPT_BYTES);
    return batch;
  }

  /** Appends a body; returns its size in bytes. */
  #append(body: Body): number {
    const needed = this.#used + (typeof body === "string" ? body.length * BYTES_PER_UNIT : body.length);
    if (needed > this.#bodies.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.#bodies.length * 2));
      grown.set(this.#bodies.subarray(0, this.#used));
      this.#bodies = grown;
    }
    const size = typeof body === "string" ? this.#bodies.write(body, this.#used) : body.length;
    if (typeof body !== "string") this.#bodies.set(body, this.#used);
    this.#used += size;
    return size;
  }
}
