/** Errors of one operation as they are kept: equal ones counted, and no more than a few. */

import { ErrorCode, type ExceptionInfo } from "../../../gen/svc/v1/error_pb.ts";
import type { ErrorRecord } from "../stores/telemetry/store.ts";

/** An error of an operation. */
export interface RecordedFailure {
  readonly code: ErrorCode;
  readonly message: string;
  /** FQN, or path from the root; empty = it is of none. */
  readonly feature: string;
  /** FQN; empty = it is of none. */
  readonly resolver: string;
  readonly exception?: ExceptionInfo | undefined;
}

/** The operation that failed. */
export type FailedOperation = Pick<
  ErrorRecord,
  "environmentId" | "deploymentId" | "branch" | "at" | "operationId" | "operationKind" | "queryName"
>;

/** Different errors of an operation that are kept. */
const MOST_KEPT = 20;
/** Most characters of a message, and of a stack. */
const MAX_MESSAGE = 2_000;
const MAX_STACK = 16_384;

/** The records of an operation's errors: at most 20, the last of which tells how many more were. */
export function errorRecords(operation: FailedOperation, failures: readonly RecordedFailure[]): ErrorRecord[] {
  const kept = new Map<string, { readonly failure: RecordedFailure; count: number }>();
  let omitted = 0;
  for (const failure of failures) {
    const key = `${failure.code}\0${failure.resolver}\0${failure.feature}\0${failure.message}`;
    const known = kept.get(key);
    if (known) known.count++;
    else if (kept.size < MOST_KEPT) kept.set(key, { failure, count: 1 });
    else omitted++;
  }
  return [...kept.values()].map(
    ({ failure: { code, message, feature, resolver, exception }, count }, at): ErrorRecord => ({
      ...operation,
      code: ErrorCode[code] ?? "",
      message: message.slice(0, MAX_MESSAGE),
      feature,
      resolver,
      ...(exception && {
        exception: {
          kind: exception.kind,
          message: exception.message.slice(0, MAX_MESSAGE),
          stacktrace: exception.stacktrace.slice(-MAX_STACK),
          file: exception.file,
          line: exception.line,
        },
      }),
      count,
      omitted: at === kept.size - 1 ? omitted : 0,
    }),
  );
}
