/** Errors of the client's calls. */

/** An exception that user code raised: its type, message and trace, and where it was raised. */
export interface ExceptionDetail {
  readonly kind: string;
  readonly message: string;
  readonly stacktrace?: string;
  readonly file?: string;
  readonly line?: number;
}

/** One error of a query. */
export interface ErrorDetail {
  /** Such as `RESOLVER_FAILED`. */
  readonly code: string;
  /** `REQUEST`, `FIELD` or `NETWORK`. */
  readonly category: string;
  readonly message: string;
  readonly feature?: string;
  readonly resolver?: string;
  readonly exception?: ExceptionDetail;
  /** The row of a bulk query, from 0; of an upload, from 1. */
  readonly row?: number;
  /** The column of an upload. */
  readonly column?: string;
  readonly hint?: string;
}

/** A call that failed; subclasses say how. */
export class SvcError extends Error {
  override readonly name: string = "SvcError";
}

/** The server did not take the credentials or the token. */
export class AuthenticationError extends SvcError {
  override readonly name = "AuthenticationError";
}

/** No answer came: the server is not there, or took too long. */
export class ServerUnreachable extends SvcError {
  override readonly name = "ServerUnreachable";
  /** Whether the server may have received the request. */
  readonly sent: boolean;
  /** Whether the time of the call is over. */
  readonly timedOut: boolean;
  constructor(message: string, { cause, sent, timedOut }: { cause?: unknown; sent: boolean; timedOut: boolean }) {
    super(message, { cause });
    this.sent = sent;
    this.timedOut = timedOut;
  }
}

/** A response that is not from an svc server, or the server's own failure. */
export class UnexpectedAnswer extends SvcError {
  override readonly name = "UnexpectedAnswer";
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/**
 * A call that was refused as a whole, or whose errors were to be thrown; `errors` has them one by
 * one.
 */
export class QueryError extends SvcError {
  override readonly name = "QueryError";
  readonly errors: readonly ErrorDetail[];
  readonly status: number;
  constructor(errors: readonly ErrorDetail[], status: number) {
    super(errors.map(errorText).join("\n") || `the call was answered with ${status}`);
    this.errors = errors;
    this.status = status;
  }
}

/** A run or an offline query that failed or was cancelled. */
export class WorkFailed extends SvcError {
  override readonly name = "WorkFailed";
  readonly id: string;
  readonly status: string;
  constructor(message: string, id: string, status: string) {
    super(message);
    this.id = id;
    this.status = status;
  }
}

/** An error in words: where it is, and what it is. */
function errorText({ column, feature, hint, message, row }: ErrorDetail): string {
  const where = [row === undefined ? "" : `row ${row}`, column ? `column ${column}` : "", feature ?? ""].filter(Boolean).join(", ");
  return `${where && `${where}: `}${message}${hint ? ` ${hint}` : ""}`;
}
