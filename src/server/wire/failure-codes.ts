/** The codes and categories of failures in the contract's error details. */

import type { ErrorCategory, ErrorCode } from "../../../gen/svc/v1/error_pb.ts";
import type { FailureKind } from "../failure.ts";

/** The names of a code and a category; answers in JSON need no more. */
export type CodeNames = readonly [code: keyof typeof ErrorCode, category: keyof typeof ErrorCategory];

/** Code and category of each kind of failure. */
export const FAILURE_CODES: Readonly<Record<FailureKind, CodeNames>> = {
  invalid_argument: ["PARSE_FAILED", "REQUEST"],
  not_found: ["UNSPECIFIED", "REQUEST"],
  already_exists: ["UNSPECIFIED", "REQUEST"],
  aborted: ["UNSPECIFIED", "REQUEST"],
  permission_denied: ["UNAUTHORIZED", "NETWORK"],
  resource_exhausted: ["UNSPECIFIED", "REQUEST"],
  out_of_space: ["UNSPECIFIED", "REQUEST"],
  failed_precondition: ["UNSPECIFIED", "REQUEST"],
  unimplemented: ["UNSPECIFIED", "REQUEST"],
  suspended: ["UNSPECIFIED", "REQUEST"],
  unavailable: ["INTERNAL_SERVER_ERROR", "NETWORK"],
  deadline_exceeded: ["DEADLINE_EXCEEDED", "NETWORK"],
  unauthenticated: ["UNAUTHENTICATED", "NETWORK"],
};
