/** The output and logs of a query's resolvers, shown with -v below its answer. */

import type { Client } from "@connectrpc/connect";
import type { QueryMeta, QueryService } from "../../gen/svc/v1/query_pb.ts";
import type { Context } from "../context/context.ts";
import { errorText } from "../domain/error-text.ts";

/** Most lines shown of one run. */
const MAX_LINES = 100;

/**
 * Shows the output and logs of a run's resolvers and where the rest is, or why they cannot be read.
 */
export async function showRunLog(
  { progress }: Pick<Context, "progress">,
  service: Client<typeof QueryService>,
  meta: QueryMeta | undefined,
): Promise<void> {
  if (!meta) return;
  try {
    const { lines } = await service.getQueryRunLog({ queryId: meta.queryId, limit: MAX_LINES });
    for (const { level, logger, resolver, text } of lines)
      progress.verbose(`${resolver} ${logger}${level === "info" ? "" : ` ${level}`}: ${text}`);
    if (lines.length === MAX_LINES)
      progress.verbose(`the newest ${MAX_LINES} lines; the page of the run has more: ${meta.url || "see the dashboard"}`);
  } catch (error) {
    progress.verbose(`what the resolvers printed could not be read: ${errorText(error)}`);
  }
}
