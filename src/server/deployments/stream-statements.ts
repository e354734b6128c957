/** The check of streams that are statements, by the engine that computes them: rule 206. */

import { create } from "@bufbuild/protobuf";
import { type Diagnostic, type Span, SpanSchema } from "../../../gen/svc/v1/error_pb.ts";
import type { Graph, MessageStatement } from "../../../gen/svc/v1/graph_pb.ts";
import { finding } from "../../domain/finding.ts";
import { isInEnvironment } from "../../domain/in-environment.ts";
import { BAD_STREAM_STATEMENT } from "../../domain/rules/streams.ts";
import { type TableColumn, type TableEngine, TableError } from "../tables/engine.ts";

/** The engine, as far as statements are examined by it. */
export type StatementExaminer = Pick<TableEngine, "examine">;

/** Findings on the statements of the streams of an environment, in the order of the streams. */
export async function checkStreamStatements(
  { featureSets, streamResolvers }: Graph,
  environmentName: string,
  engine: () => Promise<StatementExaminer>,
): Promise<Diagnostic[]> {
  const findings: Diagnostic[] = [];
  for (const { body, environments, outputs } of streamResolvers) {
    if (body.case !== "statement" || !isInEnvironment(environments, environmentName)) continue;
    const { message, span, sql, table, verbatim } = body.value;
    const features = featureSets.flatMap((set) => set.features).filter(({ fqn }) => outputs.includes(fqn));
    const columnsOf = (of: typeof features): TableColumn[] =>
      of.flatMap(({ kind, name }) => (kind.case === "scalar" && kind.value.dtype ? [{ name, dtype: kind.value.dtype }] : []));
    const asked = { statement: sql, table, columns: columnsOf(message?.features ?? []), answer: columnsOf(features) };
    try {
      const fault = await (await engine()).examine(asked);
      if (!fault) continue;
      const { offset, problem } = fault;
      const place = verbatim && offset !== undefined ? placeIn(body.value, offset) : undefined;
      findings.push(finding(place ? BAD_STREAM_STATEMENT.here({ problem }) : BAD_STREAM_STATEMENT.somewhere({ problem }), place ?? span));
    } catch (error) {
      if (!(error instanceof TableError)) throw error;
      findings.push(finding(BAD_STREAM_STATEMENT.somewhere({ problem: error.message }), span));
    }
  }
  return findings;
}

/** The span of the word at an offset of a statement that stands there as it is. */
function placeIn({ span, sql }: MessageStatement, offset: number): Span | undefined {
  if (!span) return undefined;
  const before = sql.slice(0, offset).split("\n");
  const line = span.line + before.length - 1;
  const column = [...(before.at(-1) ?? "")].length + (before.length === 1 ? span.column : 1);
  const token = /^(?:[\p{L}\p{N}_$]+|[^\s])/u.exec(sql.slice(offset))?.[0] ?? "";
  return create(SpanSchema, { file: span.file, line, column, endLine: line, endColumn: column + Math.max(1, [...token].length) });
}
