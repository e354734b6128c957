/** The TypeScript client of svc, for Node, Bun and browsers. */

export * from "./client.ts";
export type { Dataset, DatasetFile, DatasetRevision } from "./dataset.ts";
export {
  AuthenticationError,
  type ErrorDetail,
  type ExceptionDetail,
  QueryError,
  ServerUnreachable,
  SvcError,
  UnexpectedAnswer,
  WorkFailed,
} from "./errors.ts";
export type { CallOptions, Fetch } from "./session.ts";
export type { Integers, TypedField, ValueType } from "./values.ts";
