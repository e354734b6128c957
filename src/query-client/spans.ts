/**
 * The spans of a traced query, fetched after its answer so that tracing does not slow the query.
 */

import type { Client } from "@connectrpc/connect";
import type { QueryMeta, QueryService, TraceSpan } from "../../gen/svc/v1/query_pb.ts";
import type { Context } from "../context/context.ts";
import { errorText } from "../domain/error-text.ts";

/**
 * The spans of a query; empty, with a note, when they cannot be read, or when it was to be traced
 * and was not.
 */
export async function spansOf(
  { progress }: Pick<Context, "progress">,
  service: Client<typeof QueryService>,
  meta: QueryMeta | undefined,
  isWanted: boolean,
): Promise<readonly TraceSpan[]> {
  if (!meta?.traceId) {
    if (isWanted) progress.warn("the query was not traced: telemetry is suspended (`svc infra resume telemetry`)");
    return [];
  }
  try {
    return (await service.getTrace({ trace: { case: "queryId", value: meta.queryId } })).spans;
  } catch (error) {
    progress.warn(`the spans of trace ${meta.traceId} could not be read: ${errorText(error)}`);
    return [];
  }
}
