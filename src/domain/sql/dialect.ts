/** Dialects of SQL by the kind of database. */

import { type Graph, SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import type { SqlDialect } from "./tokenize.ts";

const DIALECTS: Partial<Record<SourceKind, SqlDialect>> = {
  [SourceKind.SQLITE]: "sqlite",
  [SourceKind.POSTGRESQL]: "postgresql",
  [SourceKind.MYSQL]: "mysql",
  [SourceKind.CLICKHOUSE]: "clickhouse",
  [SourceKind.DUCKDB]: "duckdb",
  [SourceKind.SNOWFLAKE]: "snowflake",
  [SourceKind.BIGQUERY]: "bigquery",
};

/** The dialect that databases of a kind speak; undefined for a kind that this version has not. */
export function dialectOfKind(kind: SourceKind): SqlDialect | undefined {
  return DIALECTS[kind];
}

/** The dialect of a source that a header names: a declared one, or a kind of database. */
export function dialectOf(source: string, { sources }: Pick<Graph, "sources">): SqlDialect | undefined {
  const declared = sources.find((candidate) => candidate.name === source);
  if (declared) return dialectOfKind(declared.kind);
  return Object.values(DIALECTS).find((dialect) => dialect === source.toLowerCase());
}
