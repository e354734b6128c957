/** Runs of resolvers as tables and lines. */

import { type ResolverRun, ResolverRunCause, ResolverRunState } from "../../../../gen/svc/v1/resolver_run_pb.ts";
import type { FieldViews } from "../../../output/message-view.ts";
import { age } from "../../../output/time.ts";

/** The state of a run in a word. */
export function stateText({ state }: ResolverRun): string {
  switch (state) {
    case ResolverRunState.RECEIVED:
      return "Received";
    case ResolverRunState.RUNNING:
      return "Running";
    case ResolverRunState.SUCCEEDED:
      return "Succeeded";
    case ResolverRunState.FAILED:
      return "Failed";
    default:
      return "";
  }
}

function causeText({ cause }: ResolverRun): string {
  return cause === ResolverRunCause.SCHEDULE ? "schedule" : "trigger";
}

/** Columns of a list. */
export const RUN_COLUMNS: FieldViews<ResolverRun> = {
  id: "ID",
  resolver: { header: "Resolver", flexible: true },
  state: { header: "Status", cell: stateText },
  cause: { header: "Cause", cell: causeText },
  rows: { header: "Rows", align: "right" },
  failedRows: { header: "Failed", align: "right" },
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
};

/** All that people see of one. */
export const RUN_FIELDS: FieldViews<ResolverRun> = {
  id: "ID",
  resolver: "Resolver",
  state: { header: "Status", cell: stateText },
  cause: { header: "Cause", cell: causeText },
  deploymentId: "Deployment",
  createdAt: "Created",
  startedAt: "Started",
  endedAt: "Ended",
  rows: "Rows",
  failedRows: "Failed rows",
  url: "Page",
  error: "Error",
  persistOnline: "Stored online",
  persistOffline: "Stored offline",
  lowerBound: "Lower bound",
  upperBound: "Upper bound",
  idempotencyKey: "Idempotency key",
};
