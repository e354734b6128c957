/** Jobs as tables and lines. */

import { type Job, type JobAttempt, type JobWait, JobWaitReason } from "../../../gen/svc/v1/job_pb.ts";
import { formatEnum } from "../../contract/contract.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { age, timeText } from "../../output/time.ts";

/** What a job waits for, in a few words; empty = nothing. */
function waitText(wait: JobWait | undefined): string {
  if (!wait) return "";
  const { reason, until, behind } = wait;
  const jobs = behind.length === 0 ? "another job" : `${behind.length === 1 ? "job" : "jobs"} ${behind.join(", ")}`;
  if (reason === JobWaitReason.RUN_TIME) return timeText(until);
  if (reason === JobWaitReason.JOBS) return `the end of ${jobs}`;
  if (reason === JobWaitReason.GATE) return `the end of ${jobs}, which its gate let through`;
  if (reason === JobWaitReason.SLOT) return `the slot of ${jobs}`;
  if (reason === JobWaitReason.EARLIER_JOB) return `${jobs} before it`;
  return "a node";
}

/** Where a job belongs; one of no environment is the server's own. */
const environment = {
  header: "Environment",
  cell: ({ environmentName, environmentId }: Job) => environmentName || (environmentId === "" ? "(server)" : "(removed)"),
};

function attemptText({ number, state, startedAt, error }: JobAttempt): string {
  const began = `${number} ${formatEnum("svc.v1.JobAttemptState", state) ?? ""} (began ${timeText(startedAt)})`;
  return error === "" ? began : `${began}: ${error}`;
}

/** Columns of a list. */
export const JOB_COLUMNS: FieldViews<Job> = {
  number: { header: "ID", align: "right" },
  kind: { header: "Kind", cell: ({ kind, name }) => (name === "" ? kind : `${kind}: ${name}`) },
  state: "State",
  environmentName: environment,
  waitsFor: { header: "Waits For", cell: ({ waitsFor }) => waitText(waitsFor), flexible: true },
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
};

/** All that people see of one. */
export const JOB_FIELDS: FieldViews<Job> = {
  number: "ID",
  id: "Name in logs",
  name: "Name",
  kind: "Kind",
  subject: "About",
  state: "State",
  waitsFor: { header: "Waits for", cell: ({ waitsFor }) => waitText(waitsFor) },
  environmentName: environment,
  resourceGroup: {
    header: "Resource group",
    cell: ({ resourceGroup, slots }) => (resourceGroup === "" ? "" : `${resourceGroup}, ${slots} at once`),
  },
  operationId: "Operation",
  traceId: "Trace",
  index: "Index",
  gate: { header: "Gate", cell: ({ gate }) => (gate === 0 ? "" : `${gate} of the operation at once`) },
  workflowId: "Workflow",
  priority: "Priority",
  attempts: { header: "Attempts", cell: ({ attempts, maxAttempts }) => `${attempts} of ${maxAttempts}` },
  attemptTimeout: "Attempt limit",
  attemptsMade: { header: "Attempts made", cell: ({ attemptsMade }) => attemptsMade.map(attemptText).join("; ") },
  node: "Node",
  progress: "Progress",
  error: "Error",
  cancelRequested: "Asked to end",
  createdAt: "Created",
  runAt: "Due",
  deadlineAt: "Deadline",
  endedAt: "Ended",
  url: "Page",
};
