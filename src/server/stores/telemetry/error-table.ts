/** The table of errors in the telemetry file. */

import type { Database, SQLQueryBindings } from "bun:sqlite";
import { errorPattern } from "../../../domain/error-pattern.ts";
import { type Condition, toCondition } from "../../../domain/search/condition.ts";
import { mentionsKey } from "../logs/mentions-key.ts";
import { newestFirst } from "../sqlite/newest-first.ts";
import type { ErrorGroup, ErrorRecord, ErrorSearch, LoggedKeys, NewestPage, RecordedException, StoredError } from "./store.ts";

/** Newest errors that groups are made of, and resolvers and features that one names. */
const GROUPED_ROWS = 200_000;
const MAX_NAMES = 20;
/** Errors that one step of a deletion looks at. */
const STEP_ROWS = 20_000;
/** Milliseconds by which errors may be written later than others of their time. */
const LATE_MS = 3_600_000;

const COLUMNS = `seq, environment_id as environmentId, deployment_id as deploymentId, branch, at, operation_id as operationId,
  operation_kind as operationKind, query_name as queryName, code, message, feature, resolver, exception, count, omitted`;

type Row = Omit<StoredError, "exception"> & { readonly exception: string };

/** Columns of fields that are not named as their column. */
const FIELD_COLUMNS: Readonly<Record<string, string>> = { kind: "operation_kind", deployment: "deployment_id" };

/** The table. Every method throws what SQLite does. */
export class ErrorTable {
  constructor(private readonly db: Database) {}

  write(errors: readonly ErrorRecord[]): void {
    const insert = this.db.query(
      `insert into query_error (environment_id, deployment_id, branch, at, operation_id, operation_kind, query_name, code, message, pattern, feature, resolver,
         exception, count, omitted) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    for (const one of errors)
      insert.run(
        ...([
          one.environmentId,
          one.deploymentId,
          one.branch,
          one.at,
          one.operationId,
          one.operationKind,
          one.queryName,
          one.code,
        ] as const),
        ...([plain(one.message), errorPattern(plain(one.message)), plain(one.feature), one.resolver] as const),
        ...([one.exception ? JSON.stringify(one.exception) : "", one.count, one.omitted] as const),
      );
  }

  /** A page of errors, newest first. */
  search({ from, before, ...filter }: ErrorSearch, limit: number, beforeSeq?: number): NewestPage<StoredError> {
    const { records, next } = newestFirst<Row>(
      this.db,
      { table: "query_error", columns: COLUMNS, time: "at", late: LATE_MS, from, before, condition: conditionOf(filter) },
      limit,
      beforeSeq,
    );
    return { records: records.map(errorOf), next };
  }

  /** Groups of errors that say the same, the largest first. */
  group({ from, before, ...filter }: ErrorSearch, limit: number, offset: number): ErrorGroup[] {
    const { sql, parameters } = conditionOf(filter);
    const newest = this.db.query<{ seq: number | null }, []>("select max(seq) as seq from query_error").get()?.seq ?? 0;
    const groups = this.db
      .query<
        Omit<ErrorGroup, "sample" | "resolvers" | "features"> & {
          readonly last: number;
          readonly resolvers: string;
          readonly features: string;
        },
        SQLQueryBindings[]
      >(
        `select pattern, code, sum(count) as count, count(distinct operation_id) as operations, min(at) as firstAt, max(at) as lastAt, max(seq) as last,
           json_group_array(distinct resolver) filter (where resolver <> '') as resolvers,
           json_group_array(distinct feature) filter (where feature <> '') as features
         from query_error where seq > ? and ${sql} and at >= ? and at < ? group by pattern, code order by count desc, lastAt desc, pattern limit ? offset ?`,
      )
      .all(...[newest - GROUPED_ROWS, ...parameters, from ?? Number.MIN_SAFE_INTEGER, before ?? Number.MAX_SAFE_INTEGER, limit, offset]);
    const sample = this.db.query<Row, [number]>(`select ${COLUMNS} from query_error where seq = ?`);
    return groups.flatMap(({ last, resolvers, features, ...group }) => {
      const row = sample.get(last);
      const names = (list: string): string[] => (JSON.parse(list) as string[]).slice(0, MAX_NAMES);
      return row ? [{ ...group, resolvers: names(resolvers), features: names(features), sample: errorOf(row) }] : [];
    });
  }

  /** Removes the errors of an operation. */
  forgetOperation(operationId: string): void {
    this.db.query("delete from query_error where operation_id = ?").run(operationId);
  }

  /** Removes errors that name a key, of the next ones; returns where more may be. */
  forgetKeys({ environmentId, branch, keys, until }: LoggedKeys, after: number): number | undefined {
    const wanted = new Set(keys);
    const rows = this.db
      .query<{ seq: number; environmentId: string; branch: string; at: number; message: string; exception: string }, [number, number]>(
        `select seq, environment_id as environmentId, branch, at, message, exception from query_error where seq > ? order by seq limit ?`,
      )
      .all(after, STEP_ROWS);
    const remove = this.db.query("delete from query_error where seq = ?");
    this.db.transaction(() => {
      for (const row of rows) {
        if (row.environmentId !== environmentId || row.branch !== branch || row.at > until) continue;
        const texts = [row.message, ...Object.values(exceptionOf(row.exception) ?? {}).filter((text) => typeof text === "string")];
        if (texts.some((text) => mentionsKey(text, wanted))) remove.run(row.seq);
      }
    })();
    return rows.length < STEP_ROWS ? undefined : rows.at(-1)?.seq;
  }
}

function conditionOf({ environmentId, search }: Pick<ErrorSearch, "environmentId" | "search">): Condition {
  const { sql, parameters } = toCondition(search, (field) => FIELD_COLUMNS[field] ?? field);
  return { sql: `environment_id = ? and ${sql}`, parameters: [environmentId, ...parameters] };
}

function errorOf({ exception, ...row }: Row): StoredError {
  const raised = exceptionOf(exception);
  return raised ? { ...row, exception: raised } : row;
}

function exceptionOf(text: string): RecordedException | undefined {
  return text === "" ? undefined : (JSON.parse(text) as RecordedException);
}

/** A text that SQLite compares as JavaScript does. */
function plain(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\ufffd");
}
