/** Workflows as tables and lines. */

import { type Workflow, type WorkflowEdge, WorkflowKind, type WorkflowNode, WorkflowStatus } from "../../../gen/svc/v1/workflow_pb.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";

/** The kinds by name. */
export const WORKFLOW_KINDS = {
  manual: WorkflowKind.MANUAL,
  cron: WorkflowKind.CRON,
  scheduled_query: WorkflowKind.SCHEDULED_QUERY,
} as const;

/** The statuses by name. */
export const WORKFLOW_STATUSES = {
  queued: WorkflowStatus.QUEUED,
  working: WorkflowStatus.WORKING,
  completed: WorkflowStatus.COMPLETED,
  failed: WorkflowStatus.FAILED,
  canceled: WorkflowStatus.CANCELED,
} as const;

/** Columns of a list. */
export const WORKFLOW_COLUMNS: FieldViews<Workflow> = {
  id: "ID",
  subject: { header: "About", flexible: true },
  deploymentId: { header: "Deployment", flexible: true },
  kind: "Kind",
  status: "Status",
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style) },
};

/** All that people see of one. */
export const WORKFLOW_FIELDS: FieldViews<Workflow> = {
  id: "ID",
  subject: "About",
  deploymentId: "Deployment",
  kind: "Kind",
  status: "Status",
  createdAt: "Created",
  startedAt: "Started",
  endedAt: "Ended",
  url: "Page",
};

/**
 * A graph as a tree: below each operation those that wait for it. One that waits for several stands
 * below the last of them and names the others.
 */
export function graphTree(nodes: readonly WorkflowNode[], edges: readonly WorkflowEdge[]): string {
  const before = new Map(
    nodes.map(({ id }) => [id, nodes.filter((node) => edges.some(({ from, to }) => from === node.id && to === id))] as const),
  );
  const below = (parent: WorkflowNode | undefined, indent: string): string[] =>
    nodes
      .filter(({ id }) => before.get(id)?.at(-1) === parent)
      .flatMap((node) => {
        const others = before.get(node.id)?.slice(0, -1).map(nameOf) ?? [];
        const also = others.length === 0 ? "" : `, also after ${others.join(", ")}`;
        return [`${indent}${nameOf(node)}: ${stateOf(node)}${also}`, ...below(node, `${indent}  `)];
      });
  return below(undefined, "").join("\n");
}

function nameOf({ name, kind }: WorkflowNode): string {
  return name === kind ? name : `${name} (${kind})`;
}

function stateOf({ status, jobs, running, completed, failed, canceled }: WorkflowNode): string {
  const word =
    (Object.keys(WORKFLOW_STATUSES) as (keyof typeof WORKFLOW_STATUSES)[]).find((name) => WORKFLOW_STATUSES[name] === status) ?? "";
  if (jobs <= 1) return word;
  const told = Object.entries({ completed, running, failed, canceled }).filter(([, count]) => count > 0);
  const parts = told.map(([state, count]) => `${count} ${state}`).join(", ");
  return `${word}, ${jobs} jobs${parts === "" ? "" : `: ${parts}`}`;
}
