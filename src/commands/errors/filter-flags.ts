/** Which errors a command is about, and how many it shows. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { QueryErrorFilterSchema } from "../../../gen/svc/v1/query_error_pb.ts";
import { bool, int, text, timestamp } from "../../cli/flag.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";

const MOST = 1_000;

/** The flags. */
export const errorFlags = {
  operationId: text("only those of this query, run or offline query", { placeholder: "<id>" }),
  feature: text("only those of this feature", { placeholder: "<fqn>", aliases: ["--feature-fqn"], names: "feature" }),
  resolver: text("only those of this resolver", { placeholder: "<fqn>", aliases: ["--resolver-fqn"] }),
  queryName: text("only those of queries with this name", { placeholder: "<name>" }),
  since: timestamp("only those since then: look back 1h, 24h, 7d, or a time", { aliases: ["--window", "--time-window"] }),
  pageSize: int(`rows at most, 1 to ${MOST}; with --all-pages, rows that are asked for at once`, {
    default: 100,
    aliases: ["--limit", "-L"],
  }),
  allPages: bool("show all, not only the first page", { aliases: ["--all"] }),
  pageToken: text("continue after a page, by the token that it ended with", { aliases: ["--cursor"], placeholder: "<token>" }),
};

interface ErrorInput {
  readonly operationId: string | undefined;
  readonly feature: string | undefined;
  readonly resolver: string | undefined;
  readonly queryName: string | undefined;
  readonly since: number | undefined;
  readonly pageSize: number;
  readonly allPages: boolean;
  readonly pageToken: string | undefined;
}

/** Throws UsageError for a length that no page has. */
export function checkErrorFlags({ pageSize }: Pick<ErrorInput, "pageSize">): void {
  if (pageSize < 1 || pageSize > MOST) throw new UsageError(`--page-size takes 1 to ${MOST}`);
}

/** The filter of a call. */
export function errorFilter({
  operationId = "",
  feature = "",
  resolver = "",
  queryName = "",
  since,
}: ErrorInput): MessageInitShape<typeof QueryErrorFilterSchema> {
  return { operationId, feature, resolver, queryName, ...(since !== undefined && { startTime: msToTimestamp(since) }) };
}

/** Which rows a call shows: a page, or all of them. */
export function errorPages({ allPages, pageSize, pageToken }: Pick<ErrorInput, "pageSize" | "allPages" | "pageToken">) {
  return { limit: allPages ? Number.MAX_SAFE_INTEGER : pageSize, most: pageSize, pageToken };
}
