/**
 * Queries on their way to the thread that writes them. Their bodies are laid end to end when they
 * are handed over, so that they go as one piece of memory and are packed as they are; the rest goes
 * as one text, which threads hand to each other for less than objects.
 */

import type { Body, QueryLogEntry } from "./store.ts";

/**
 * A query without its bodies. Their bytes follow each other in the batch's, request, response,
 * origins, and those of the next query come after them.
 */
export interface BatchedQuery extends Omit<QueryLogEntry, "request" | "response" | "origins"> {
  readonly requestSize: number;
  /** Null when there is no response. */
  readonly responseSize: number | null;
  readonly originsSize: number;
}

/** Queries that are handed over together. */
export interface QueryBatch {
  /** JSON of `BatchedQuery[]`. */
  readonly rows: string;
  readonly bodies: Uint8Array<ArrayBuffer>;
}

/**
 * Size of the memory in which bodies are laid, unless a batch needs more; what is not written to
 * takes none.
 */
const KEPT_BYTES = 1024 * 1024;
/** Most bytes of a UTF-16 unit in UTF-8. */
const BYTES_PER_UNIT = 3;

/** Gathers queries. */
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

  /** The queries gathered; the gatherer is empty afterwards. */
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

  /** Gives how many bytes it has. */
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
