/** Places of definitions in JSON. */

import type { Span } from "../../gen/svc/v1/error_pb.ts";

/**
 * A definition's span is told as `source`, with the place where it begins; null when it is not
 * known.
 */
export const sourceException = {
  key: "source",
  value: ({ span }: { readonly span?: Span | undefined }) => (span ? { file: span.file, line: span.line, column: span.column } : null),
};
