/**
 * A SQL resolver's statement as its database takes it, with the way back from a place in it to a
 * place in the file.
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
  /** The offset in the body that an offset in the statement came from, both in UTF-16 units. */
  bodyOffset(offset: number): number;
}

/**
 * Puts the database's own placeholders in place of `${...}`; a semicolon at the end is left out.
 */
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
 * The place of a body offset in the resolver's file: one word or character from there on. Columns
 * count code points.
 */
export function spanInBody(resolver: Resolver, query: SqlQuery, offset: number): Span {
  const before = query.body.slice(0, Math.min(offset, query.body.length)).split("\n");
  const line = query.bodyLine + before.length - 1;
  const column = [...(before.at(-1) ?? "")].length + 1;
  const token = /^(?:[\p{L}\p{N}_$]+|[^\s])/u.exec(query.body.slice(offset))?.[0] ?? "";
  return create(SpanSchema, {
    file: resolver.span?.file ?? "",
    line,
    column,
    endLine: line,
    endColumn: column + Math.max(1, [...token].length),
  });
}
