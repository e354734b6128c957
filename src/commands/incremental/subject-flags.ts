/** Whose progress: a resolver or a scheduled query. */

import type { IncrementalProgress } from "../../../gen/svc/v1/incremental_pb.ts";
import { text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { timeText } from "../../output/time.ts";

/** `--resolver` and `--scheduled-query`. */
export const subjectFlags = {
  resolver: text("resolver FQN, or its last part", { placeholder: "<resolver>" }),
  scheduledQuery: text("name of a scheduled query", { aliases: ["--query"], placeholder: "<query>" }),
};

interface GivenSubject {
  readonly resolver: string | undefined;
  readonly scheduledQuery: string | undefined;
}

/** Throws UsageError unless exactly one is given. */
export function checkSubject({ resolver, scheduledQuery }: GivenSubject): void {
  if ((resolver === undefined) === (scheduledQuery === undefined)) throw new UsageError("give one of --resolver and --scheduled-query");
}

/** The subject as the server takes it. */
export function subjectOf({ resolver = "", scheduledQuery = "" }: GivenSubject) {
  return { resolverName: resolver, scheduledQueryName: scheduledQuery };
}

/** The subject in words. */
export function subjectText({ resolver, scheduledQuery }: GivenSubject): string {
  return resolver === undefined ? `scheduled query ${scheduledQuery ?? ""}` : `resolver ${resolver}`;
}

/** All that people see of progress. */
export const PROGRESS_FIELDS: FieldViews<IncrementalProgress> = {
  resolver: { header: "Resolver", cell: ({ resolver }) => resolver || "N/A" },
  scheduledQuery: { header: "Query", cell: ({ scheduledQuery }) => scheduledQuery || "N/A" },
  environment: "Environment",
  maxIngestedAt: { header: "Max Ingested Timestamp", cell: ({ maxIngestedAt }) => (maxIngestedAt ? timeText(maxIngestedAt) : "N/A") },
  lastExecutionAt: {
    header: "Last Execution Timestamp",
    cell: ({ lastExecutionAt }) => (lastExecutionAt ? timeText(lastExecutionAt) : "N/A"),
  },
};
