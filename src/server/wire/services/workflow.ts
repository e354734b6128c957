/** WorkflowService: the workflows of an environment. */

import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { WorkflowKind, WorkflowService, WorkflowStatus } from "../../../../gen/svc/v1/workflow_pb.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import type { OperationState } from "../../jobs/workflows.ts";
import type { WorkflowRecord } from "../../stores/metadata/workflows.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { readPage } from "./page-token.ts";

const KINDS = {
  manual: WorkflowKind.MANUAL,
  cron: WorkflowKind.CRON,
  scheduled_query: WorkflowKind.SCHEDULED_QUERY,
} as const satisfies Readonly<Record<WorkflowRecord["kind"], WorkflowKind>>;
const STATUSES = {
  queued: WorkflowStatus.QUEUED,
  working: WorkflowStatus.WORKING,
  completed: WorkflowStatus.COMPLETED,
  failed: WorkflowStatus.FAILED,
  canceled: WorkflowStatus.CANCELED,
} as const satisfies Readonly<Record<WorkflowRecord["status"], WorkflowStatus>>;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { environments, keys, workflows } = platform;
  const environmentOf = async (context: HandlerContext): Promise<string> =>
    (await resolveScope(environments, callerOf(context), context.requestHeader)).environment.id;
  const shown = (workflow: WorkflowRecord, { requestHeader }: HandlerContext) => ({
    ...message(workflow),
    url: pageAddress(platform, requestHeader, workflow.environmentId, "run", { id: workflow.id }),
  });

  router.service(WorkflowService, {
    async listWorkflows({ deploymentId, kind, status, idPart, pageSize, pageToken, offset }, context) {
      const filter = {
        environmentId: await environmentOf(context),
        deploymentId: deploymentId || undefined,
        kind: named(KINDS, kind, "kind"),
        status: named(STATUSES, status, "status"),
        idPart: idPart || undefined,
      };
      const found = await workflows();
      const listed = JSON.stringify(["workflows", filter]);
      const page = await readPage(keys.objects, listed, { pageSize, pageToken, offset }, (limit, before) =>
        found.list({ ...filter, before, offset, limit }),
      );
      return { workflows: page.items.map((workflow) => shown(workflow, context)), nextPageToken: page.nextPageToken };
    },

    async getWorkflow({ id }, context) {
      return { workflow: shown(await (await workflows()).find(id, await environmentOf(context)), context) };
    },

    async getWorkflowGraph({ id }, context) {
      const found = await workflows();
      const operations = await found.operations(await found.find(id, await environmentOf(context)));
      return {
        nodes: operations.map(node),
        edges: operations.flatMap(({ id: to, after }) => after.map((from) => ({ from, to }))),
      };
    },
  });
}

/** The name of a number of the contract; undefined for 0. Throws Failure invalid_argument. */
function named<N extends string>(names: Readonly<Record<N, number>>, wanted: number, what: string): N | undefined {
  if (wanted === 0) return undefined;
  const found = (Object.keys(names) as N[]).find((name) => names[name] === wanted);
  if (found === undefined) throw new Failure("invalid_argument", `There is no such ${what} of workflows.`);
  return found;
}

function message({ id, deploymentId, kind, status, subject, createdAt, startedAt, endedAt }: WorkflowRecord) {
  return {
    ...{ id, deploymentId, subject },
    kind: KINDS[kind],
    status: STATUSES[status],
    createdAt: msToTimestamp(createdAt),
    ...(startedAt !== undefined && { startedAt: msToTimestamp(startedAt) }),
    ...(endedAt !== undefined && { endedAt: msToTimestamp(endedAt) }),
  };
}

function node({ after: _, status, ...operation }: OperationState) {
  return { ...operation, status: STATUSES[status] };
}
