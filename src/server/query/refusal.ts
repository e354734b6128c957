import type { MessageInitShape } from "@bufbuild/protobuf";
import { ErrorCategory, type ErrorCode, type ErrorDetailSchema } from "../../../gen/svc/v1/error_pb.ts";

/** One thing that is wrong with a query. */
export type Refusal = MessageInitShape<typeof ErrorDetailSchema>;

/** A query that is wrong as a whole: nothing was run. */
export class QueryRefused extends Error {
  override readonly name = "QueryRefused";
  constructor(readonly errors: readonly Refusal[]) {
    super(errors.map((error) => error.message).join("; "));
  }
}

/** A fault of the request. */
export function refusal(code: ErrorCode, message: string, feature = ""): Refusal {
  return { code, category: ErrorCategory.REQUEST, message, feature };
}
