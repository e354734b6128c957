/** Source positions of definitions in JSON. */

import type { Span } from "../../gen/svc/v1/error_pb.ts";

/**
 * The JSON exception for a definition's span: key `source`, with the position where the span
 * begins; null when it is unknown.
 */
export const sourceException = {
  key: "source",
  value: ({ span }: { readonly span?: Span | undefined }) => (span ? { file: span.file, line: span.line, column: span.column } : null),
};
