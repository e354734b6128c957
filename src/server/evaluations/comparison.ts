/** What two runs scored otherwise, computed of the tables of their results. */

import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { RevisionMaker } from "../datasets/revisions.ts";
import { Failure } from "../failure.ts";
import type { EvaluationRunRecord } from "../stores/metadata/evaluations.ts";
import { quoteName } from "../tables/duckdb/sql-type.ts";
import type { TableChunk, TableColumn, TableEngine } from "../tables/engine.ts";
import { OUTPUT, ROW, scoreColumn } from "./result-table.ts";

/** What a scorer gave in two runs, of the rows that it scored in both. */
export interface ScorerDifference {
  readonly scorer: string;
  readonly count: number;
  readonly higher: number;
  readonly lower: number;
  /** Average of other minus base; undefined without rows. */
  readonly mean: number | undefined;
}

/** A row that a scorer scored otherwise. */
export interface RowDifference {
  readonly key: string;
  readonly scorer: string;
  readonly base: number;
  readonly other: number;
  readonly baseOutput: string;
  readonly otherOutput: string;
}

/** The difference of two runs. */
export interface Comparison {
  readonly scorers: readonly ScorerDifference[];
  /** Those with the greatest difference first. */
  readonly rows: readonly RowDifference[];
  readonly truncated: boolean;
  readonly rowsInBoth: number;
}

/** The result of a run as a table. */
export interface ResultTable {
  readonly run: EvaluationRunRecord;
  readonly columns: readonly TableColumn[];
  /** Name of the column with the key; undefined = none. */
  readonly key: string | undefined;
}

const LIMITS = { timeoutMs: 60_000, bytes: 16 * 1024 * 1024 };
const MAX_OUTPUT = 1_000;

/**
 * Compares two results, at most `limit` of whose rows are told. Rejects with Failure
 * failed_precondition when their rows cannot be told to be the same.
 */
export async function compareResults(
  { revisions, tables, workFolder }: { readonly revisions: RevisionMaker; readonly tables: TableEngine; readonly workFolder: string },
  base: ResultTable,
  other: ResultTable,
  limit: number,
  signal: AbortSignal,
): Promise<Comparison> {
  const join = joinColumn(base, other);
  const scorers = scorersOf(other).filter((scorer) => scorersOf(base).includes(scorer));
  if (scorers.length === 0) throw new Failure("failed_precondition", `Runs ${base.run.id} and ${other.run.id} have no scorer in common.`);
  try {
    const sources = [
      { name: ["base"], columns: base.columns, paths: await fetchAll(revisions, base, workFolder, "base") },
      { name: ["other"], columns: other.columns, paths: await fetchAll(revisions, other, workFolder, "other") },
    ];
    const ask = async (statement: string, rows: number): Promise<TableChunk["columns"]> => {
      const target = `${workFolder}/answer-${rows}.parquet`;
      const { columns } = await tables.select(statement, sources, target, { limits: { ...LIMITS, rows }, signal });
      const chunks = await Array.fromAsync(tables.read(target, { columns, signal }));
      return columns.map((_, at) => chunks.flatMap((chunk) => chunk.columns[at] ?? []));
    };
    const figures = await ask(figuresStatement(join, scorers), 1);
    const figure = (at: number): number => Number(figures[at]?.[0] ?? 0);
    const differing = await ask(rowsStatement(join, scorers, limit + 1), limit + 1);
    const text = (at: number, row: number): string => String(differing[at]?.[row] ?? "");
    const count = differing[0]?.length ?? 0;
    return {
      rowsInBoth: figure(0),
      scorers: scorers.map((scorer, index) => {
        const at = 1 + index * 4;
        const mean = figures[at + 3]?.[0];
        return {
          ...{ scorer, count: figure(at), higher: figure(at + 1), lower: figure(at + 2) },
          mean: mean === null || mean === undefined ? undefined : Number(mean),
        };
      }),
      rows: Array.from({ length: Math.min(count, limit) }, (_, row) => ({
        ...{ key: text(0, row), scorer: scorers[Number(differing[1]?.[row])] ?? "" },
        ...{ base: Number(differing[2]?.[row]), other: Number(differing[3]?.[row]), baseOutput: text(4, row), otherOutput: text(5, row) },
      })),
      truncated: count > limit,
    };
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
}

function scorersOf({ columns }: ResultTable): string[] {
  return columns.flatMap(({ name }) => (name.startsWith(scoreColumn("")) ? [name.slice(scoreColumn("").length)] : []));
}

/** The column by which rows are the same. */
function joinColumn(base: ResultTable, other: ResultTable): string {
  if (base.key !== undefined && base.key === other.key) return base.key;
  if (base.run.revisionId === other.run.revisionId) return ROW;
  throw new Failure(
    "failed_precondition",
    `The runs are of different revisions, ${base.run.revisionId} and ${other.run.revisionId}, and no key tells which rows are the same.`,
    { hint: "Give the evaluation a key, `key='id'`, and run it over both revisions." },
  );
}

async function fetchAll(revisions: RevisionMaker, { run }: ResultTable, folder: string, prefix: string): Promise<string[]> {
  const paths: string[] = [];
  for (const file of await revisions.files(run.resultRevisionId)) {
    const path = join(folder, `${prefix}-${file.name}`);
    await revisions.fetch(file, path);
    paths.push(path);
  }
  return paths;
}

/** Rows in both, and of each scorer four figures. */
function figuresStatement(key: string, scorers: readonly string[]): string {
  const figures = scorers.flatMap((scorer) => {
    const [base, other] = [`b.${quoteName(scoreColumn(scorer))}`, `o.${quoteName(scoreColumn(scorer))}`];
    return [
      `count(*) FILTER (WHERE ${base} IS NOT NULL AND ${other} IS NOT NULL)`,
      `count(*) FILTER (WHERE ${other} > ${base})`,
      `count(*) FILTER (WHERE ${other} < ${base})`,
      `avg(${other} - ${base})`,
    ];
  });
  return `SELECT ${["count(*)", ...figures].map((sql, at) => `${sql} AS f${at}`).join(", ")} FROM base AS b ${joined(key)}`;
}

/** Rows with another score: key, number of the scorer, both scores, both outputs. */
function rowsStatement(key: string, scorers: readonly string[], limit: number): string {
  const parts = scorers.map((scorer, index) => {
    const [base, other] = [`b.${quoteName(scoreColumn(scorer))}`, `o.${quoteName(scoreColumn(scorer))}`];
    const output = (of: string): string => `left(${of}.${quoteName(OUTPUT)}, ${MAX_OUTPUT})`;
    return `SELECT CAST(b.${quoteName(key)} AS VARCHAR) AS k, ${index} AS s, ${base} AS x, ${other} AS y, ${output("b")} AS p, ${output("o")} AS q
FROM base AS b ${joined(key)} WHERE ${other} <> ${base}`;
  });
  return `SELECT * FROM (${parts.join("\nUNION ALL\n")}) ORDER BY abs(y - x) DESC, k, s LIMIT ${limit}`;
}

function joined(key: string): string {
  return `JOIN other AS o ON b.${quoteName(key)} = o.${quoteName(key)}`;
}
