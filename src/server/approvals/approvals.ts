/**
 * Requests for approval: changes of protected environments, made once a person has approved them
 * who is not the one who asked. A decision is one step of the store with the job that follows from
 * it, so that it is made once, whoever decides at the same time and whatever dies then.
 */

import type { Clock } from "../../context/clock.ts";
import { DAY_MS } from "../../domain/day.ts";
import { OWNER_NAME, OWNER_PERSON } from "../access/owner.ts";
import type { Sealer } from "../access/sealing.ts";
import { type Caller, personOf } from "../access/tokens.ts";
import { buildJob, refusalText } from "../deployments/builds.ts";
import type { ApprovalOf, Deployments } from "../deployments/deployments.ts";
import { suspended } from "../deployments/environment-states.ts";
import type { Configurations } from "../environments/configuration.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { noteChange } from "../jobs/changes.ts";
import type { RecurringJob } from "../jobs/recurring.ts";
import type { JobHandler } from "../jobs/runner.ts";
import { createWakeablePause } from "../jobs/wakeable-pause.ts";
import { openSealed } from "../secrets/sealed-text.ts";
import type { ApprovalRecord, Decision } from "../stores/metadata/approvals.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { NewJob } from "../stores/metadata/jobs.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { createApprovers } from "./approvers.ts";
import type { Change, Changes, PinnedChange } from "./changes.ts";

/** The kind of the jobs that make approved changes. */
export const APPROVAL_JOB = "approved-change";

/** Requests for approval, and their decisions. */
export interface Approvals {
  /**
   * Asks for the approval of a change, and returns the id of the request; undefined when the
   * environment is not protected, and the change may be made. Rejects with the Failure of making
   * it, and with resource_exhausted when too many requests are pending.
   */
  ask(caller: Caller, environment: EnvironmentRecord, change: Change): Promise<string | undefined>;
  /** The same for the deployments that a caller makes. */
  ofDeployments(caller: Caller): ApprovalOf;
  /**
   * Prepares the protection of an environment: what serves it counts as approved. Rejects with
   * Failure failed_precondition when nobody but the caller's person could approve anything.
   */
  protect(caller: Caller, environment: EnvironmentRecord): Promise<void>;
  /** Whether changes of an environment need approval. */
  isNeeded(environment: EnvironmentRecord): Promise<boolean>;
  /** Rejects with Failure failed_precondition when an environment is protected. */
  refuseProtected(environment: EnvironmentRecord, what: string): Promise<void>;
  /** A request. Rejects with Failure not_found. */
  get(id: string): Promise<ApprovalRecord>;
  /** Names of clients that can approve a request. */
  approvers(environment: EnvironmentRecord, approval: ApprovalRecord): Promise<readonly string[]>;
  /**
   * Approves a request, and waits a while until the change is made. Rejects with Failure
   * permission_denied when the caller acts for who asked, failed_precondition when the request is
   * not pending or the change could not be made, and `suspended` for a deployment or an upload to
   * an environment that is.
   */
  approve(caller: Caller, environment: EnvironmentRecord, id: string, reason: string): Promise<ApprovalRecord>;
  /** Rejects a request. Rejects with Failure like `approve`. */
  reject(caller: Caller, environment: EnvironmentRecord, id: string, reason: string): Promise<ApprovalRecord>;
  /** Withdraws a request. Rejects with Failure permission_denied when another person asked. */
  withdraw(caller: Caller, id: string, reason: string): Promise<ApprovalRecord>;
  /** Seals what another key sealed with the key that seals now; returns how many were. */
  reseal(signal: AbortSignal): Promise<number>;
  /** The handler of APPROVAL_JOB jobs. */
  readonly handler: JobHandler;
  /** The end of requests that nobody decided in time, and the removal of old ones. */
  readonly upkeep: RecurringJob["run"];
}

/** The services that the capability needs. */
export interface ApprovalsOptions {
  readonly metadata: Pick<MetadataStore, "approvals" | "client" | "clients" | "environment">;
  readonly protection: Configurations["protection"];
  readonly deployments: Pick<Deployments, "approveServing" | "decided" | "find">;
  readonly changes: Changes;
  readonly sealer: Sealer;
  readonly bus: Bus;
  readonly clock: Clock;
}

/** Milliseconds in which a request can be approved. */
const LIFETIME_MS = 7 * DAY_MS;
/** Milliseconds that decided requests are kept. */
const KEPT_MS = 90 * DAY_MS;
/** Most pending requests of an environment. */
const MAX_PENDING = 100;
const MAX_REASON = 1_000;
const MAX_ATTEMPTS = 20;
const ATTEMPT_TIMEOUT_MS = 60_000;
/** Milliseconds that an approval waits for its change, and between two looks at it. */
const PATIENCE_MS = 10_000;
const LOOK_MS = 1_000;

const contextOf = (environmentId: string, id: string): string[] => [environmentId, "approval", id, "payload"];

/** Makes the capability. */
export function createApprovals(options: ApprovalsOptions): Approvals {
  const { metadata, protection, deployments, changes, sealer, bus, clock } = options;
  const { approvals } = metadata;
  const approvers = createApprovers(metadata, () => clock.now());

  const nameOf = async ({ clientId, personId }: Caller): Promise<string> =>
    (await metadata.client(clientId))?.name ?? (personId === OWNER_PERSON ? OWNER_NAME : clientId);

  const requestOf = async (
    caller: Caller,
    given: Pick<ApprovalRecord, "environmentId" | "kind" | "names" | "deploymentId" | "replaces">,
  ): Promise<ApprovalRecord> => {
    const now = clock.now();
    return {
      ...given,
      id: newId("apr", now),
      payload: "",
      state: "pending",
      clientId: caller.clientId,
      personId: personOf(caller),
      requestedBy: await nameOf(caller),
      createdAt: now,
      expiresAt: now + LIFETIME_MS,
      decidedById: "",
      decidedBy: "",
      decidedAt: undefined,
      reason: "",
      appliedAt: undefined,
      error: "",
    };
  };

  const get = async (id: string): Promise<ApprovalRecord> => {
    const found = id === "" ? undefined : await approvals.get(id);
    if (found) return found;
    throw new Failure("not_found", `There is no request for approval '${id.slice(0, 50)}'.`, { hint: "`svc approval list` shows all." });
  };

  const whoCan = async (environment: EnvironmentRecord, approval: ApprovalRecord): Promise<string> => {
    const names = await approvers.names(environment, approval.personId);
    return names.length > 0 ? `They can: ${names.join(", ")}.` : "Nobody can yet: give another person the permission 'approve'.";
  };

  /** The job of an approved request. */
  const jobOf = async ({ id, environmentId, deploymentId }: ApprovalRecord): Promise<NewJob> => {
    const jobId = newId("job", clock.now());
    if (deploymentId !== "") return buildJob(jobId, await deployments.find(deploymentId, environmentId), true);
    return {
      id: jobId,
      kind: APPROVAL_JOB,
      payload: { approvalId: id },
      group: { name: `${APPROVAL_JOB}:${environmentId}`, slots: 1 },
      scope: environmentId,
      subject: id,
      idempotencyKey: id,
      maxAttempts: MAX_ATTEMPTS,
      attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
    };
  };

  /** Removes what was kept for a request. Where that fails, it is removed when it expires. */
  const discard = async ({ id, environmentId, payload }: ApprovalRecord): Promise<void> => {
    const opened = payload === "" ? undefined : await openSealed(sealer, payload, contextOf(environmentId, id));
    if (opened && "text" in opened) await changes.discard((JSON.parse(opened.text) as PinnedChange).change).catch(() => undefined);
  };

  const decide = async (
    approval: ApprovalRecord,
    how: Pick<Decision, "state" | "decidedById" | "decidedBy" | "reason">,
  ): Promise<ApprovalRecord> => {
    const decision: Decision = { ...how, at: clock.now(), deploymentError: refusalText(how) };
    const job = how.state === "approved" ? await jobOf(approval) : undefined;
    const decided = await approvals.decide(approval.id, decision, job);
    if (!decided) throw notPending(await get(approval.id), decision.at);
    if (how.state !== "approved") await discard(approval);
    if (job) bus.publish("jobs");
    noteChange(bus, "runs", decided.environmentId);
    if (decided.deploymentId !== "") await deployments.decided(decided.deploymentId);
    return decided;
  };

  const decideAs = async (caller: Caller, approval: ApprovalRecord, state: Decision["state"], reason: string) => {
    if (reason.length > MAX_REASON) throw new Failure("invalid_argument", `A reason has at most ${MAX_REASON} characters.`);
    return decide(approval, { state, decidedById: caller.clientId, decidedBy: await nameOf(caller), reason });
  };

  /** A request that the caller may decide. */
  const decidable = async (caller: Caller, environment: EnvironmentRecord, id: string): Promise<ApprovalRecord> => {
    const approval = await get(id);
    if (approval.personId === personOf(caller))
      throw new Failure("permission_denied", `${id} was asked for by '${approval.requestedBy}', so that another person has to decide it.`, {
        hint: `${await whoCan(environment, approval)} \`svc approval withdraw ${id}\` takes it back.`,
      });
    return approval;
  };

  /** The request once its change was made or failed, or as it is after a while. */
  const made = async (id: string): Promise<ApprovalRecord> => {
    const patience = AbortSignal.timeout(PATIENCE_MS);
    const pause = createWakeablePause(clock, patience);
    const unsubscribe = bus.subscribe("jobs", pause.wake);
    try {
      for (;;) {
        pause.clear();
        const now = await get(id);
        if (now.state !== "approved" || now.appliedAt !== undefined || patience.aborted) return now;
        await pause.sleep(LOOK_MS);
      }
    } finally {
      unsubscribe();
    }
  };

  const open = async ({ id, environmentId, payload }: ApprovalRecord): Promise<PinnedChange> =>
    JSON.parse(await sealer.open(payload, contextOf(environmentId, id))) as PinnedChange;

  const make = async (approval: ApprovalRecord): Promise<void> => {
    const environment = await metadata.environment(approval.environmentId);
    if (!environment) throw new Failure("not_found", "The environment was deleted meanwhile.");
    await changes.make(environment, await open(approval));
  };

  return {
    get,
    approvers: (environment, { personId }) => approvers.names(environment, personId),

    async ask(caller, environment, change) {
      if (!(await protection.isProtected(environment.id))) return undefined;
      await changes.check(environment, change);
      const { id: environmentId } = environment;
      const names = await changes.names(environment, change);
      const request = await requestOf(caller, { environmentId, kind: change.kind, names, deploymentId: "", replaces: "" });
      const payload = await sealer.seal(JSON.stringify(await changes.pin(environment, change)), contextOf(environmentId, request.id));
      if ((await approvals.create({ ...request, payload }, MAX_PENDING)) === "full") throw tooMany(environment.name);
      return request.id;
    },

    ofDeployments: (caller) => async (deployment) => {
      const { id, environmentId, branch, noPromote } = deployment;
      if (!(await protection.isProtected(environmentId))) return undefined;
      const names = branch === "" ? [id] : [id, `branch ${branch}`];
      const replaces = noPromote ? "" : `deployment/${branch}`;
      const request = await requestOf(caller, { environmentId, kind: "deployment", names, deploymentId: id, replaces });
      return { request, limit: MAX_PENDING };
    },

    async protect(caller, environment) {
      if (await protection.isProtected(environment.id)) return;
      const names = await approvers.names(environment, personOf(caller));
      if (names.length === 0)
        throw new Failure("failed_precondition", `Nobody else could approve changes of environment '${environment.name}'.`, {
          hint: "Let another person in first: `svc login` on their machine, which you confirm for another person.",
        });
      await deployments.approveServing(environment.id);
    },

    isNeeded: ({ id }) => protection.isProtected(id),

    async refuseProtected(environment, what) {
      if (!(await protection.isProtected(environment.id))) return;
      throw new Failure("failed_precondition", `Environment '${environment.name}' is protected, so ${what}.`, {
        hint: "End its protection first, which another person approves: `protected: false` in `svc environment update`.",
      });
    },

    async approve(caller, environment, id, reason) {
      const approval = await decidable(caller, environment, id);
      const mustRun = approval.deploymentId !== "" || approval.kind === ("values.upload" satisfies Change["kind"]);
      if (environment.suspendedAt !== undefined && mustRun) throw suspended(environment);
      await decideAs(caller, approval, "approved", reason);
      const now = await made(id);
      if (now.state === "failed") throw new Failure("failed_precondition", `${id} was approved, and could not be made: ${now.error}`);
      return now;
    },

    reject: async (caller, environment, id, reason) => decideAs(caller, await decidable(caller, environment, id), "rejected", reason),

    async withdraw(caller, id, reason) {
      const approval = await get(id);
      if (approval.personId !== personOf(caller))
        throw new Failure("permission_denied", `${id} was asked for by '${approval.requestedBy}', who alone can take it back.`, {
          hint: `\`svc approval reject ${id}\` rejects it.`,
        });
      return decideAs(caller, approval, "withdrawn", reason);
    },

    async reseal(signal) {
      let count = 0;
      for (const { id, environmentId, payload } of await approvals.sealed()) {
        signal.throwIfAborted();
        const context = contextOf(environmentId, id);
        const opened = sealer.isCurrent(payload) ? undefined : await openSealed(sealer, payload, context);
        if (!opened || "problem" in opened) continue;
        await approvals.reseal(id, payload, await sealer.seal(opened.text, context));
        count++;
      }
      return count;
    },

    handler: {
      async run({ payload }) {
        const { approvalId } = payload as { readonly approvalId: string };
        const approval = await approvals.get(approvalId);
        if (approval?.state !== "approved" || approval.appliedAt !== undefined) return;
        let error = "";
        try {
          await make(approval);
        } catch (failure) {
          if (!(failure instanceof Failure) || failure.kind === "unavailable") throw failure;
          error = [failure.message, failure.detail.hint ?? ""].join(" ").trim();
        }
        await approvals.settle(approvalId, { at: clock.now(), error });
        await discard(approval);
      },
      async giveUp({ payload }, reason) {
        const { approvalId } = payload as { readonly approvalId: string };
        const approval = await approvals.get(approvalId);
        await approvals.settle(approvalId, { at: clock.now(), error: `The server could not make the change: ${reason}.` });
        if (approval) await discard(approval);
      },
    },

    async upkeep(signal) {
      const now = clock.now();
      for (const approval of await approvals.overdue(now)) {
        signal.throwIfAborted();
        await decide(approval, { state: "expired", decidedById: "", decidedBy: "", reason: "" }).catch(ignoreDecided);
      }
      await approvals.purge(now - KEPT_MS);
    },
  };
}

function tooMany(environment: string): Failure {
  return new Failure("resource_exhausted", `Too many requests for approval are pending in environment '${environment}'.`, {
    hint: "`svc approval list` shows them.",
  });
}

/** Why a request cannot be decided any more. */
function notPending({ id, state, decidedBy, expiresAt }: ApprovalRecord, now: number): Failure {
  const isOver = state === "expired" || (state === "pending" && expiresAt <= now);
  const by = decidedBy === "" ? "" : ` by '${decidedBy}'`;
  const what = isOver ? "has expired" : state === "failed" ? "has failed" : `was ${state}${by} already`;
  return new Failure("failed_precondition", `The request ${id} ${what}, so it cannot be decided.`, {
    hint: isOver ? "Ask anew: the same command makes another request." : `\`svc approval get ${id}\` shows what became of it.`,
  });
}

/** Somebody decided it meanwhile. */
function ignoreDecided(error: unknown): void {
  if (!(error instanceof Failure) || error.kind !== "failed_precondition") throw error;
}
