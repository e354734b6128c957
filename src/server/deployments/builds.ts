/** Builds of deployments as jobs: one at a time in a scope, in the order of their creation. */

import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import type { Clock } from "../../context/clock.ts";
import { JobFailed, type JobHandler } from "../jobs/runner.ts";
import type { ApprovalRecord } from "../stores/metadata/approvals.ts";
import type { DeploymentRecord, DeploymentStore } from "../stores/metadata/deployments.ts";
import type { JobRecord, NewJob, ResourceGroup } from "../stores/metadata/jobs.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import { type Builder, BuildFailed } from "./builder.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { isSettled } from "./progress.ts";
import type { RunningDeployments, StartedDeployment } from "./running.ts";

/** The kind of the jobs that build deployments. */
export const BUILD_JOB = "deployment";

/**
 * A build is attempted again after its server died, but only once: a build that kills a server
 * twice would do so again.
 */
const MAX_ATTEMPTS = 2;
const ATTEMPT_TIMEOUT_MS = 3_600_000;
/**
 * The signal for changes that must not wait for the disk, because the job runner repeats them when
 * they reject.
 */
const WITHOUT_WAITING = AbortSignal.abort();

/** The group of the jobs of a scope, of which one runs at a time, in their order. */
export function scopeGroup(environmentId: string, branch: string): ResourceGroup {
  return { name: `${BUILD_JOB}:${environmentId}/${branch}`, slots: 1 };
}

/** The job that builds a deployment; another one builds it once it is approved. */
export function buildJob(
  id: string,
  { id: deploymentId, environmentId, branch }: Pick<DeploymentRecord, "id" | "environmentId" | "branch">,
  isApproved = false,
): NewJob {
  return {
    id,
    kind: BUILD_JOB,
    payload: { deploymentId },
    group: scopeGroup(environmentId, branch),
    scope: environmentId,
    subject: deploymentId,
    idempotencyKey: isApproved ? `${deploymentId}/approved` : deploymentId,
    maxAttempts: MAX_ATTEMPTS,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  };
}

/** The services that builds need. */
export interface BuildsOptions {
  readonly metadata: DeploymentStore & Pick<MetadataStore, "approvals" | "imageBuilds">;
  readonly builder: Builder;
  readonly lifecycle: Lifecycle;
  readonly running: RunningDeployments;
  /** Starts a built deployment. */
  readonly start: (deployment: DeploymentRecord, signal: AbortSignal) => Promise<StartedDeployment>;
  /** Why nothing may be built in an environment; undefined when it may. */
  readonly refusal: (environmentId: string) => string | undefined;
  /** Aborted, with the reason in words, when an environment's builds are to end. */
  readonly halted: (environmentId: string) => AbortSignal;
  /** Whether a deployment may not run because nobody approved it. */
  readonly needsApproval: (deployment: DeploymentRecord) => Promise<boolean>;
  /** Makes a running deployment live, unless it is not to be promoted. */
  readonly takeOver: (deployment: DeploymentRecord, signal: AbortSignal) => Promise<void>;
  /**
   * Tells others that a deployment is live, waits for approval or has failed; called until it
   * resolved once, and perhaps again.
   */
  readonly settled: (deployment: DeploymentRecord) => Promise<void>;
  readonly clock: Clock;
  /**
   * Whether an earlier attempt, which was cut off after that, gave the deployment the traffic of a
   * tag.
   */
  readonly isTakenOver: (deployment: DeploymentRecord) => Promise<boolean>;
}

/**
 * The handler of build jobs: BUILDING, STARTING, then LIVE or FAILED. A build that fails does not
 * change what is live. What needs approval is BUILDING without secrets, then WAITING; once it is
 * approved, it is built again with them.
 */
export function createBuilds({
  metadata,
  builder,
  lifecycle,
  running,
  start,
  takeOver,
  isTakenOver,
  needsApproval,
  settled,
  clock,
  refusal,
  halted,
}: BuildsOptions): JobHandler {
  const deploymentOf = ({ payload }: JobRecord) => metadata.deployment((payload as { deploymentId: string }).deploymentId);
  const unsettled = async (job: JobRecord): Promise<DeploymentRecord | undefined> => {
    const deployment = await deploymentOf(job);
    return deployment && !isSettled(deployment.status) ? deployment : undefined;
  };
  const tell = async (job: JobRecord): Promise<void> => {
    const deployment = await deploymentOf(job);
    if (deployment) await settled(deployment);
  };
  /** Nothing is left to approve of a deployment that failed. */
  const endApproval = async ({ id }: DeploymentRecord, error: string): Promise<void> => {
    const approval = await metadata.approvals.ofDeployment(id);
    if (approval?.state !== "pending") return;
    const nobody = { decidedById: "", decidedBy: "", reason: "" };
    await metadata.approvals.decide(approval.id, { ...nobody, state: "failed", error, at: clock.now(), deploymentError: error });
  };
  const fail = async (deployment: DeploymentRecord, { message, diagnostics }: BuildFailed, signal: AbortSignal): Promise<void> => {
    lifecycle.note(deployment, message, "error");
    try {
      await builder.discard(deployment.id);
      await metadata.imageBuilds.stop(deployment.id, message);
    } finally {
      await lifecycle.move(deployment.id, { status: DeploymentStatus.FAILED, error: message, diagnostics }, signal);
      await endApproval(deployment, message);
    }
  };

  /**
   * Has a deployment wait for its approval, unless it was approved meanwhile; then another job
   * builds it again. Rejects with BuildFailed.
   */
  const hold = async (job: JobRecord, { id }: DeploymentRecord): Promise<void> => {
    const outcome = await metadata.holdDeployment(id, clock.now());
    const approval = await metadata.approvals.ofDeployment(id);
    if (outcome === "not asked") throw new BuildFailed(approval ? refusalText(approval) : PROTECTED_MEANWHILE);
    const held = await deploymentOf(job);
    if (outcome !== "waiting" || !held || !approval) return;
    lifecycle.note(held, `waiting for approval: svc approval approve ${approval.id}`);
    await settled(held);
  };

  return {
    async run(job, { signal: attempt }) {
      const queued = await unsettled(job);
      if (!queued) return tell(job);
      const halt = halted(queued.environmentId);
      const signal = AbortSignal.any([attempt, halt]);
      if (await isTakenOver(queued)) {
        await lifecycle.move(queued.id, { status: DeploymentStatus.LIVE }, attempt);
        return tell(job);
      }
      let deployment = await lifecycle.move(queued.id, { status: DeploymentStatus.BUILDING }, attempt);
      try {
        const refused = refusal(queued.environmentId);
        if (refused !== undefined) throw stoppedBuild(refused);
        await running.retire(deployment.id);
        const isHeld = await needsApproval(deployment);
        await builder.build(deployment, (line) => lifecycle.note(deployment, line), signal, { withoutSecrets: isHeld });
        if (isHeld || (await needsApproval(deployment))) {
          await builder.abandon(deployment.id);
          return await hold(job, deployment);
        }
        deployment = await lifecycle.move(deployment.id, { status: DeploymentStatus.STARTING }, signal);
        const lease = await running.acquire(deployment.id, () => start(deployment, signal));
        lease.release();
        if (await needsApproval(deployment)) throw new BuildFailed(PROTECTED_MEANWHILE);
      } catch (error) {
        await builder.abandon(deployment.id);
        if (attempt.aborted) throw error;
        const found = halt.aborted ? stoppedBuild(String(halt.reason)) : error;
        const failure = found instanceof BuildFailed ? found : builder.unexpected(deployment, found);
        await fail(deployment, failure, attempt);
        throw new JobFailed(failure.message);
      }
      await takeOver(deployment, attempt);
      await tell(job);
    },

    async giveUp(job, reason) {
      const deployment = await unsettled(job);
      if (deployment)
        await fail(
          deployment,
          new BuildFailed(`The deployment was given up: ${reason}. Deploy again with \`svc apply\`.`),
          WITHOUT_WAITING,
        );
      await tell(job);
    },
  };
}

const PROTECTED_MEANWHILE = "The environment was protected meanwhile. Deploy again with `svc apply`, which asks for approval.";

/** Why a deployment fails whose approval ended so, in words. */
export function refusalText({ state, decidedBy, reason }: Pick<ApprovalRecord, "state" | "decidedBy" | "reason">): string {
  if (state === "expired") return "Nobody approved the deployment in time. Deploy again with `svc apply`, which asks anew.";
  const how = state === "rejected" ? `was rejected by '${decidedBy}'` : `was withdrawn by '${decidedBy}'`;
  return `The deployment's approval ${how}${reason === "" ? "." : `: ${reason}`}`;
}

/** The failure of a build that was ended because nothing runs in its environment. */
function stoppedBuild(reason: string): BuildFailed {
  return new BuildFailed(`The build was stopped: ${reason}. Deploy again with \`svc apply\` when it runs.`);
}
