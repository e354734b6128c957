/**
 * The statement of a SQL resolver in its database's syntax, with a mapping from offsets in it to
 * spans in the file.
 */

import { create } from "@bufbuild/protobuf";
import { type Span, SpanSchema } from "../../../gen/svc/v1/error_pb.ts";
import type { Resolver, SqlQuery } from "../../../gen/svc/v1/graph_pb.ts";
import { dialectOfKind } from "../../domain/sql/dialect.ts";
import { withoutTerminator } from "../../domain/sql/statement.ts";
import type { SqlSource } from "../sql/source.ts";

/** A statement with bound parameters in place of `${...}`. */
export interface PreparedStatement {
  readonly text: string;
  /** The offset in the body for an offset in the statement, both in UTF-16 units. */
  bodyOffset(offset: number): number;
}

/** Replaces each `${...}` by the database's placeholder, and removes a semicolon at the end. */
export function prepareStatement(query: SqlQuery, source: Pick<SqlSource, "kind" | "placeholder">): PreparedStatement {
  const { body } = query;
  const pieces: { readonly start: number; readonly bodyStart: number; readonly literal: boolean }[] = [];
  let text = "";
  let at = 0;
  query.parameters.forEach((parameter, index) => {
    pieces.push({ start: text.length, bodyStart: at, literal: true });
    text += body.slice(at, parameter.offset);
    pieces.push({ start: text.length, bodyStart: parameter.offset, literal: false });
    text += source.placeholder(index + 1);
    at = parameter.offset + parameter.length;
  });
  pieces.push({ start: text.length, bodyStart: at, literal: true });
  text += body.slice(at);
  return {
    text: withoutTerminator(text, dialectOfKind(source.kind)),
    bodyOffset(offset) {
      const piece = pieces.findLast(({ start }) => start <= offset);
      if (!piece) return 0;
      return piece.literal ? piece.bodyStart + (offset - piece.start) : piece.bodyStart;
    },
  };
}

/**
 * The span in the resolver's file of the word or character at an offset in the body. Columns count
 * code points.
 */
export function spanInBody(resolver: Resolver, query: SqlQuery, offset: number): Span {
  const { python } = query;
  if (python && !python.exact && python.textSpan) return python.textSpan;
  const before = query.body.slice(0, Math.min(offset, query.body.length)).split("\n");
  const line = query.bodyLine + before.length - 1;
  const shift = before.length === 1 ? (python?.textSpan?.column ?? 1) - 1 : 0;
  const column = [...(before.at(-1) ?? "")].length + 1 + shift;
  const token = /^(?:[\p{L}\p{N}_$]+|[^\s])/u.exec(query.body.slice(offset))?.[0] ?? "";
  return create(SpanSchema, {
    file: python?.textSpan?.file ?? resolver.span?.file ?? "",
    line,
    column,
    endLine: line,
    endColumn: column + Math.max(1, [...token].length),
  });
}
