/** Metrics of each query for a StatsD daemon: its latency, a count, and a count of failures. */

import type { Context } from "../context/context.ts";

/** A recipient of metrics. */
export interface QueryFigures {
  /** Records one query. `error` is its error code. */
  record(latencyMs: number, error: string | undefined): void;
  /** Resolves when everything was sent; a problem is reported on stderr. */
  close(): Promise<void>;
}

/** The sender of metrics; without a host, one that does nothing. */
export async function createQueryFigures(
  { machine, progress }: Pick<Context, "machine" | "progress">,
  host: string | undefined,
  port: number | undefined,
): Promise<QueryFigures> {
  if (host === undefined || port === undefined) return { record: () => undefined, close: async () => undefined };
  const datagrams = await machine.datagrams(host, port);
  return {
    record(latencyMs, error) {
      const lines = [`svc.query.latency:${Math.max(0, Math.round(latencyMs * 1000) / 1000)}|ms`, "svc.query.count:1|c"];
      if (error !== undefined) lines.push("svc.query.errors:1|c", `svc.query.errors.${error.replace(/[^\w-]/g, "_")}:1|c`);
      datagrams.send(lines.join("\n"));
    },
    async close() {
      const failed = await datagrams.close();
      if (failed) progress.warn(`not all figures reached StatsD at ${host}:${port}: ${failed.message}`);
    },
  };
}
