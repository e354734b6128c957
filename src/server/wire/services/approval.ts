/** ApprovalService: changes of protected environments that wait for another person. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  type Approval,
  ApprovalSchema,
  ApprovalService,
  ApprovalState,
  ApproveResponseSchema,
  GetApprovalResponseSchema,
  ListApprovalsResponseSchema,
  RejectResponseSchema,
  WithdrawResponseSchema,
} from "../../../../gen/svc/v1/approval_pb.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { mayReach, resolveScope } from "../../access/scope.ts";
import type { Approvals } from "../../approvals/approvals.ts";
import { Failure } from "../../failure.ts";
import type { ApprovalRecord } from "../../stores/metadata/approvals.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf, noteOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { readPage } from "./page-token.ts";

const STATES = {
  pending: ApprovalState.PENDING,
  approved: ApprovalState.APPROVED,
  rejected: ApprovalState.REJECTED,
  withdrawn: ApprovalState.WITHDRAWN,
  expired: ApprovalState.EXPIRED,
  failed: ApprovalState.FAILED,
} as const satisfies Readonly<Record<ApprovalRecord["state"], ApprovalState>>;

function message(record: ApprovalRecord, environment: EnvironmentRecord, now: number): Approval {
  const { id, kind, names, deploymentId, clientId, requestedBy, createdAt, expiresAt, decidedBy, decidedAt, reason, appliedAt, error } =
    record;
  const state = record.state === "pending" && expiresAt <= now ? ApprovalState.EXPIRED : STATES[record.state];
  return create(ApprovalSchema, {
    ...{ id, kind, deploymentId, state, clientId, requestedBy, decidedBy, reason, error },
    environmentId: environment.id,
    environmentName: environment.name,
    names: [...names],
    createdAt: msToTimestamp(createdAt),
    expiresAt: msToTimestamp(expiresAt),
    ...(decidedAt !== undefined && { decidedAt: msToTimestamp(decidedAt) }),
    ...(appliedAt !== undefined && { appliedAt: msToTimestamp(appliedAt) }),
  });
}

/** Adds the service to a router. */
export function register(router: ConnectRouter, { approvals, clock, environments, keys, metadata }: Platform): void {
  /** A request of an environment that the caller reaches. Rejects with Failure not_found. */
  const find = async (id: string, context: HandlerContext) => {
    const caller = callerOf(context);
    const { environment: named } = await resolveScope(environments, caller, context.requestHeader);
    if (id === "") throw new Failure("invalid_argument", "Name the request for approval.");
    const all = await approvals();
    const approval = await all.get(id);
    const { environmentId } = approval;
    const environment =
      environmentId === named.id ? named : await environments.find({ teamId: caller.teamId, project: "", environment: environmentId });
    if (environment?.id !== environmentId || !mayReach(caller, environment))
      throw new Failure("not_found", `There is no request for approval '${id}'.`, { hint: "`svc approval list` shows all." });
    const note = noteOf(context);
    note.about = { ...note.about, environment_id: environmentId, kind: approval.kind };
    return { all, approval, caller, environment };
  };
  const decided = async (
    id: string,
    context: HandlerContext,
    decide: (all: Approvals, found: Omit<Awaited<ReturnType<typeof find>>, "all">) => Promise<ApprovalRecord>,
  ): Promise<Approval> => {
    const { all, ...found } = await find(id, context);
    return message(await decide(all, found), found.environment, clock.now());
  };

  router.service(ApprovalService, {
    async listApprovals({ states, ...page }, context) {
      const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
      const wanted = Object.entries(STATES).flatMap(([name, state]) => (states.includes(state) ? [name as ApprovalRecord["state"]] : []));
      if (wanted.length === 0 && states.length > 0)
        throw new Failure("invalid_argument", "There is no such state of requests for approval.");
      const filter = JSON.stringify([environment.id, ...wanted]);
      const { items, nextPageToken } = await readPage(keys.objects, filter, page, (limit, before) =>
        metadata.approvals.list({
          ...{ environmentId: environment.id, limit },
          ...(before === undefined ? {} : { before }),
          ...(wanted.length === 0 ? {} : { states: wanted }),
        }),
      );
      const listed = items.map((one) => message(one, environment, clock.now()));
      return create(ListApprovalsResponseSchema, { approvals: listed, nextPageToken });
    },

    async getApproval({ id }, context) {
      const { all, approval, environment } = await find(id, context);
      const approvers = approval.state === "pending" ? await all.approvers(environment, approval) : [];
      return create(GetApprovalResponseSchema, { approval: message(approval, environment, clock.now()), approvers: [...approvers] });
    },

    async approve({ id, reason }, context) {
      const approval = await decided(id, context, (all, { caller, environment }) => all.approve(caller, environment, id, reason));
      return create(ApproveResponseSchema, { approval });
    },

    async reject({ id, reason }, context) {
      const approval = await decided(id, context, (all, { caller, environment }) => all.reject(caller, environment, id, reason));
      return create(RejectResponseSchema, { approval });
    },

    async withdraw({ id, reason }, context) {
      const approval = await decided(id, context, (all, { caller }) => all.withdraw(caller, id, reason));
      return create(WithdrawResponseSchema, { approval });
    },
  });
}
