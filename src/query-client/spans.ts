/** The spans of traced queries and runs, fetched after their end so that nothing waits for them. */

import type { Client } from "@connectrpc/connect";
import type { QueryMeta, QueryService, TraceSpan } from "../../gen/svc/v1/query_pb.ts";
import type { TraceService } from "../../gen/svc/v1/trace_pb.ts";
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
  return read(progress, `trace ${meta.traceId}`, service.getTrace({ trace: { case: "queryId", value: meta.queryId } }));
}

/** The spans of a run that was to be traced; empty, with a note, when they cannot be read. */
export function spansOfRun({ progress }: Pick<Context, "progress">, service: Client<typeof TraceService>, id: string): Promise<Spans> {
  return read(progress, `run ${id}`, service.getTrace({ trace: { case: "operationId", value: id } }));
}

type Spans = readonly TraceSpan[];

async function read(progress: Context["progress"], of: string, asked: Promise<{ readonly spans: Spans }>): Promise<Spans> {
  try {
    return (await asked).spans;
  } catch (error) {
    progress.warn(`the spans of ${of} could not be read: ${errorText(error)}`);
    return [];
  }
}
