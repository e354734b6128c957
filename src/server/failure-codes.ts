/** What kinds of failures are called in the contract's error details. */

import { ErrorCategory, ErrorCode } from "../../gen/svc/v1/error_pb.ts";
import type { FailureKind } from "./failure.ts";

/** Code and category of each kind. */
export const FAILURE_CODES: Readonly<Record<FailureKind, readonly [ErrorCode, ErrorCategory]>> = {
  invalid_argument: [ErrorCode.PARSE_FAILED, ErrorCategory.REQUEST],
  not_found: [ErrorCode.UNSPECIFIED, ErrorCategory.REQUEST],
  already_exists: [ErrorCode.UNSPECIFIED, ErrorCategory.REQUEST],
  permission_denied: [ErrorCode.UNAUTHORIZED, ErrorCategory.NETWORK],
  resource_exhausted: [ErrorCode.UNSPECIFIED, ErrorCategory.REQUEST],
  out_of_space: [ErrorCode.UNSPECIFIED, ErrorCategory.REQUEST],
  failed_precondition: [ErrorCode.UNSPECIFIED, ErrorCategory.REQUEST],
  unimplemented: [ErrorCode.UNSPECIFIED, ErrorCategory.REQUEST],
  unavailable: [ErrorCode.INTERNAL_SERVER_ERROR, ErrorCategory.NETWORK],
  unauthenticated: [ErrorCode.UNAUTHENTICATED, ErrorCategory.NETWORK],
};
