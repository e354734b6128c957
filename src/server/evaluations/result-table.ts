/** The table of a run's result: its columns, its rows, and what is computed of it. */

import { PrimitiveType } from "../../../gen/svc/v1/value_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";
import type { RowFailureRecord, ScoreRecord } from "../stores/metadata/evaluations.ts";
import { quoteName } from "../tables/duckdb/sql-type.ts";
import type { TableChunk, TableColumn } from "../tables/engine.ts";
import { primitive } from "../tables/inferred-type.ts";
import { type ScoredRows, TASK } from "./evaluation-process.ts";

/** Names of columns that every result has. */
export const ROW = "row";
export const OUTPUT = "output";
export const ERROR = "error";

/** The column with the scores of a scorer. */
export function scoreColumn(scorer: string): string {
  return `score.${scorer}`;
}

/** The column with what a scorer failed with. */
export function errorColumn(scorer: string): string {
  return `error.${scorer}`;
}

/**
 * The columns of a result: the number of the row from 0, the key under its own name, the output,
 * why the function failed, and of each scorer the score and why it failed.
 */
export function resultColumns(scorers: readonly string[], key: TableColumn | undefined): TableColumn[] {
  return [
    { name: ROW, dtype: primitive(PrimitiveType.INT64) },
    ...(key ? [key] : []),
    { name: OUTPUT, dtype: primitive(PrimitiveType.STRING) },
    { name: ERROR, dtype: primitive(PrimitiveType.STRING) },
    ...scorers.flatMap((scorer) => [
      { name: scoreColumn(scorer), dtype: primitive(PrimitiveType.FLOAT64) },
      { name: errorColumn(scorer), dtype: primitive(PrimitiveType.STRING) },
    ]),
  ];
}

/** Rows of a result, from the row of a number on. */
export function resultRows(
  scorers: readonly string[],
  from: number,
  keys: readonly FeatureValue[] | undefined,
  { outputs, scores, errors }: ScoredRows,
): TableChunk {
  const rows = outputs.length;
  const failures = (name: string): FeatureValue[] => Array.from({ length: rows }, (_, row) => errors.get(name)?.get(row) ?? null);
  return {
    rows,
    columns: [
      Array.from({ length: rows }, (_, row) => from + row),
      ...(keys ? [keys] : []),
      outputs,
      failures(TASK),
      ...scorers.flatMap((scorer) => [scores.get(scorer) ?? [], failures(scorer)]),
    ],
  };
}

/** The figures of a result. */
export interface ResultSummary {
  readonly rowsFailed: number;
  /** Undefined where no row failed. */
  readonly firstFailure: RowFailureRecord | undefined;
  readonly scores: readonly ScoreRecord[];
}

/** Longest key that is told of a row, in characters. */
const KEY_LENGTH = 200;
/** Figures in front of those of scorers. */
const OF_ALL = 5;
/** Figures of each scorer. */
const OF_SCORER = 6;

/** A statement about the table `result`, whose one row `readSummary` reads. */
export function summaryStatement(scorers: readonly string[], key: TableColumn | undefined): string {
  const names = [ERROR, ...scorers.map(errorColumn)].map(quoteName);
  const failed = names.map((name) => `${name} IS NOT NULL`).join(" OR ");
  const ofFirst = (value: string): string => `arg_min(${value}, ${quoteName(ROW)}) FILTER (WHERE ${failed})`;
  const which = names.map((name, at) => `WHEN ${name} IS NOT NULL THEN ${at}`).join(" ");
  const figures = scorers.flatMap((scorer) => {
    const [score, error] = [quoteName(scoreColumn(scorer)), quoteName(errorColumn(scorer))];
    const shares = [0.5, 0.9, 0.99].map((share) => `quantile_cont(${score}, ${share})`);
    return [`count(${score})`, `count(${error})`, `avg(${score})`, ...shares];
  });
  const ofAll = [
    `count(*) FILTER (WHERE ${failed})`,
    ofFirst(quoteName(ROW)),
    ofFirst(key ? `left(coalesce(CAST(${quoteName(key.name)} AS VARCHAR), ''), ${KEY_LENGTH})` : "''"),
    ofFirst(`CASE ${which} END`),
    ofFirst(`coalesce(${names.join(", ")})`),
  ];
  return `SELECT ${[...ofAll, ...figures].map((sql, at) => `${sql} AS f${at}`).join(", ")} FROM result`;
}

/** The figures in the row of `summaryStatement`. */
export function readSummary(scorers: readonly string[], { columns }: TableChunk): ResultSummary {
  const figure = (at: number): number | undefined => {
    const value = columns[at]?.[0];
    return value === null || value === undefined ? undefined : Number(value);
  };
  const text = (at: number): string => String(columns[at]?.[0] ?? "");
  const rowsFailed = figure(0) ?? 0;
  const failure = { row: figure(1) ?? 0, key: text(2), scorer: ["", ...scorers][figure(3) ?? 0] ?? "", message: text(4) };
  return {
    rowsFailed,
    firstFailure: rowsFailed > 0 ? failure : undefined,
    scores: scorers.map((scorer, index) => {
      const at = OF_ALL + index * OF_SCORER;
      return {
        ...{ scorer, count: figure(at) ?? 0, errors: figure(at + 1) ?? 0, mean: figure(at + 2) },
        ...{ p50: figure(at + 3), p90: figure(at + 4), p99: figure(at + 5) },
      };
    }),
  };
}

/** Mean of the scorers' averages; undefined without any. */
export function averageOf(scores: readonly ScoreRecord[]): number | undefined {
  const means = scores.flatMap(({ mean }) => (mean === undefined ? [] : [mean]));
  return means.length === 0 ? undefined : means.reduce((sum, mean) => sum + mean, 0) / means.length;
}
