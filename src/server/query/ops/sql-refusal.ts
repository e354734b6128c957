/** Failures of SQL queries, with the line of the file that they are about. */

import { create } from "@bufbuild/protobuf";
import { ErrorCode, ExceptionInfoSchema } from "../../../../gen/svc/v1/error_pb.ts";
import type { TypeMismatch } from "../../../domain/value.ts";
import { ParameterError, SqlError, type SqlFault } from "../../sql/source.ts";
import type { ResolverInfo, ScalarInfo, SqlInfo } from "../graph/index-types.ts";
import type { CellFailure } from "../run/cells.ts";
import { callFailure } from "../run/outcome.ts";

/** A database's refusal with the line of the file that it speaks of. */
export class SqlRefusal extends Error {
  constructor(
    message: string,
    readonly line: number,
    readonly fault: SqlFault,
  ) {
    super(message);
  }
}

/**
 * The error for a row that a database returned for a key although the row's own key is not of the
 * feature's type.
 */
export class ForeignRow extends Error {
  /** @param lookedFor for example `user.id = 5` */
  constructor({ fqn }: ScalarInfo, { given, wanted }: TypeMismatch, lookedFor: string) {
    super(
      `looking for ${lookedFor}, the database also gave a row whose ${fqn} is ${given}, which is not of type ${wanted}: ` +
        "cast the column in the query, or leave such rows out",
    );
  }
}

/** A statement as it was run. */
export interface RunText {
  readonly text: string;
  /** Lines of it before the body's first. */
  readonly linesBefore: number;
  /** The name that users know the parameter at a position by, from 0. */
  parameterName(position: number): string;
}

/**
 * Throws a database's refusal with the line of the file in place of the offset in the statement.
 */
export function relocate(error: unknown, sql: SqlInfo, { text, linesBefore, parameterName }: RunText): never {
  if (!(error instanceof SqlError)) throw error;
  const before = error.offset === undefined ? 0 : text.slice(0, error.offset).split("\n").length - 1 - linesBefore;
  const lines = sql.body.split("\n").length;
  const message = error instanceof ParameterError ? `${parameterName(error.position)} ${error.problem}` : error.message;
  throw new SqlRefusal(message, sql.bodyLine + Math.min(Math.max(before, 0), lines - 1), error.fault);
}

/** The failure of a feature whose SQL resolver failed. */
export function sqlFailure(error: unknown, path: string, resolver: ResolverInfo, sql: SqlInfo): CellFailure {
  const message = `${resolver.fqn}: ${error instanceof Error ? error.message : error}`;
  if (error instanceof ForeignRow) return { code: ErrorCode.VALIDATION_FAILED, message, path, resolver: resolver.fqn };
  if (!(error instanceof SqlError || error instanceof SqlRefusal)) return callFailure(error, path, resolver);
  const line = error instanceof SqlRefusal ? error.line : sql.bodyLine;
  return {
    code: ErrorCode.RESOLVER_FAILED,
    message,
    path,
    resolver: resolver.fqn,
    exception: create(ExceptionInfoSchema, { kind: "SqlError", message: error.message, file: sql.file, line }),
  };
}
