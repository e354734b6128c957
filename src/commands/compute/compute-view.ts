/** Functions and their calls as tables and lines. */

import { type ComputeCall, ComputeCallState, type FunctionVersion } from "../../../gen/svc/v1/function_pb.ts";
import { formatDuration } from "../../domain/duration.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";

const STATES = {
  queued: ComputeCallState.QUEUED,
  running: ComputeCallState.RUNNING,
  succeeded: ComputeCallState.SUCCEEDED,
  failed: ComputeCallState.FAILED,
  cancelled: ComputeCallState.CANCELLED,
} as const;

function callState({ state }: Pick<ComputeCall, "state">): string {
  const name = Object.entries(STATES).find(([, value]) => value === state)?.[0] ?? "";
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

/** Columns of a list of versions. */
export const VERSION_COLUMNS: FieldViews<FunctionVersion> = {
  id: "ID",
  name: { header: "Name", flexible: true },
  version: { header: "Version", align: "right" },
  live: { header: "Live", cell: ({ live }) => (live ? "yes" : "") },
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
};

/** All that people see of a version. */
export const VERSION_FIELDS: FieldViews<FunctionVersion> = {
  id: "ID",
  name: "Name",
  version: "Version",
  signature: "Signature",
  function: { header: "Function", cell: ({ function: of }) => factsOf(of) },
  live: { header: "Live", cell: ({ live }) => (live ? "yes" : "no") },
  deploymentId: { header: "Deployment", cell: ({ deploymentId }) => deploymentId || "none is left that has it" },
  createdAt: "Created",
  url: { header: "Page", ifAny: true },
};

function factsOf(of: FunctionVersion["function"]): string {
  if (!of) return "";
  const { batch, concurrency, description, owner, python, span, tags, timeout, venv } = of;
  const facts = [
    `${python?.module}.${python?.name}${span ? ` (${span.file}:${span.line})` : ""}`,
    batch ? "for all rows at once" : "",
    timeout ? `at most ${formatDuration(durationToMs(timeout))}` : "",
    concurrency > 0 ? `${concurrency} at once` : "",
    venv === "" ? "" : `venv ${venv}`,
    owner,
    tags.join(", "),
    description.split("\n", 1)[0] ?? "",
  ];
  return facts.filter((fact) => fact !== "").join("; ");
}

/** Columns of a list of kept calls. */
export const CALL_COLUMNS: FieldViews<ComputeCall> = {
  id: "ID",
  name: { header: "Name", flexible: true },
  version: { header: "Version", align: "right", dispensable: true },
  state: { header: "Status", cell: callState },
  enqueuedAt: { header: "Enqueued", cell: ({ enqueuedAt }, style) => age(enqueuedAt, style) },
  traceId: "Trace ID",
};
