/**
 * The counters of a node, in memory: requests by status, and queries with their latencies. Counting
 * costs some additions; labels are bounded.
 */

/** Upper bounds of the buckets of a latency, in seconds. */
export const LATENCY_BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30] as const;

/** Latencies by buckets. */
export class Latencies {
  /** Their number by bucket; the last is above all bounds. */
  readonly counts: number[] = new Array(LATENCY_BOUNDS.length + 1).fill(0);
  /** Their sum in seconds. */
  sum = 0;

  /** Counts a latency. */
  record(ms: number): void {
    const seconds = ms / 1000;
    let bucket = 0;
    while (bucket < LATENCY_BOUNDS.length && seconds > (LATENCY_BOUNDS[bucket] as number)) bucket++;
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.sum += seconds;
  }
}

/** The counters of a node since its start. */
export interface Meters {
  /** Requests by HTTP status. */
  readonly requests: ReadonlyMap<number, number>;
  readonly requestLatencies: Latencies;
  /** Requests that are being answered. */
  readonly inFlight: () => number;
  /** Queries without and with errors. */
  readonly queries: { readonly ok: number; readonly failed: number };
  readonly queryLatencies: Latencies;
  /** Counts the beginning of a request. */
  began(): void;
  /** Counts the end of a request. */
  answered(status: number, ms: number): void;
  /** Counts a query. */
  queried(isOk: boolean, ms: number): void;
}

/** Makes the counters of a node. */
export function createMeters(): Meters {
  const requests = new Map<number, number>();
  const requestLatencies = new Latencies();
  const queries = { ok: 0, failed: 0 };
  const queryLatencies = new Latencies();
  let inFlight = 0;
  return {
    requests,
    requestLatencies,
    inFlight: () => inFlight,
    queries,
    queryLatencies,
    began() {
      inFlight++;
    },
    answered(status, ms) {
      inFlight--;
      requests.set(status, (requests.get(status) ?? 0) + 1);
      requestLatencies.record(ms);
    },
    queried(isOk, ms) {
      if (isOk) queries.ok++;
      else queries.failed++;
      queryLatencies.record(ms);
    },
  };
}
