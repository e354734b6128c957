/**
 * Records of the stages of queries. Their rows are objects of the object store, which are deleted
 * before their records, so that none is left behind.
 */

import type { Database } from "bun:sqlite";
import type { ExpiredStages, StageRecord } from "./store.ts";

/** Limits beyond which stages expire. */
export interface StageLimits {
  /** Stages of queries that started earlier expire; epoch milliseconds. */
  readonly since: number;
  /** Size of all stages' objects above which the oldest expire, in bytes. */
  readonly maxBytes: number;
}

type Row = Omit<StageRecord, "columns"> & { readonly columns: string };

/** The table. Every method throws what SQLite does. */
export class StageTable {
  constructor(private readonly db: Database) {}

  write(stages: readonly StageRecord[]): void {
    const insert = this.db.query(
      `insert into plan_stage (query_id, stage, environment_id, started_at, kind, provider, path, row_count, columns, omitted, sha256, size)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.db.transaction(() => {
      for (const { queryId, stage, environmentId, startedAt, kind, provider, path, rows, columns, omitted, sha256, size } of stages)
        insert.run(queryId, stage, environmentId, startedAt, kind, provider, path, rows, JSON.stringify(columns), omitted, sha256, size);
    })();
  }

  /** The stages of a query, in order. */
  read(queryId: string): StageRecord[] {
    return this.db
      .query<Row, [string]>(
        `select query_id as queryId, stage, environment_id as environmentId, started_at as startedAt, kind, provider, path, row_count as rows, columns,
           omitted, sha256, size
         from plan_stage where query_id = ? order by stage`,
      )
      .all(queryId)
      .map((row) => ({ ...row, columns: JSON.parse(row.columns) as string[] }));
  }

  /** The queries whose stages have expired, with their objects. */
  expired({ since, maxBytes }: StageLimits): ExpiredStages {
    const runs = this.db
      .query<{ queryId: string; startedAt: number; bytes: number }, []>(
        "select query_id as queryId, min(started_at) as startedAt, sum(size) as bytes from plan_stage group by query_id order by startedAt desc",
      )
      .all();
    let bytes = 0;
    const gone = runs.filter((run) => {
      bytes += run.bytes;
      return run.startedAt < since || bytes > maxBytes;
    });
    const queryIds = gone.map(({ queryId }) => queryId);
    return { queryIds, objects: queryIds.flatMap((queryId) => this.read(queryId).flatMap(({ sha256 }) => sha256 || [])) };
  }

  /** Makes the stages of an environment too old. */
  expire(environmentId: string): void {
    this.db.query("update plan_stage set started_at = 0 where environment_id = ?").run(environmentId);
  }

  /** Makes the stages of a query too old. */
  expireQuery(queryId: string): void {
    this.db.query("update plan_stage set started_at = 0 where query_id = ?").run(queryId);
  }

  /** Removes the stages of queries. */
  forget(queryIds: readonly string[]): void {
    const remove = this.db.query("delete from plan_stage where query_id = ?");
    this.db.transaction(() => {
      for (const queryId of queryIds) remove.run(queryId);
    })();
  }
}
