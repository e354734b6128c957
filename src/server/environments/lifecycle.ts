/**
 * The life of environments: renamed, suspended, resumed, removed. Every node follows by the bus;
 * `deployments/environment-states.ts` stops and starts what runs.
 */

import type { Clock } from "../../context/clock.ts";
import { checkName } from "../access/projects.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { NewJob } from "../stores/metadata/jobs.ts";
import type { EnvironmentContents } from "../stores/metadata/projects.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";

/** The kind of the jobs that erase what a removed environment held. */
export const ERASURE_JOB = "erase-environment";

/** The life of environments. */
export interface EnvironmentLifecycle {
  /** Makes every node read an environment anew, after its configuration changed. */
  changed(environment: EnvironmentRecord): void;
  /** Rejects like `rename` would, and changes nothing. */
  checkRename(environment: EnvironmentRecord, name: string): Promise<void>;
  /** Renames an environment. Rejects with Failure invalid_argument, already_exists or not_found. */
  rename(environment: EnvironmentRecord, name: string): Promise<EnvironmentRecord>;
  /** Suspends an environment; `changed` is false when it was suspended already. */
  suspend(environment: EnvironmentRecord): Promise<{ readonly environment: EnvironmentRecord; readonly changed: boolean }>;
  /** Resumes an environment; `changed` is false when it was active already. */
  resume(environment: EnvironmentRecord): Promise<{ readonly environment: EnvironmentRecord; readonly changed: boolean }>;
  /** What an environment holds. */
  contents(environment: EnvironmentRecord): Promise<EnvironmentContents>;
  /**
   * Removes an environment, and queues the job that erases what it held. Rejects with Failure
   * failed_precondition for the last one of the server, and not_found.
   */
  remove(environment: EnvironmentRecord): Promise<void>;
}

/** The job that erases a removed environment. It is attempted until it succeeds. */
function erasureJob(id: string, environmentId: string): NewJob {
  return {
    id,
    kind: ERASURE_JOB,
    payload: { environmentId },
    scope: environmentId,
    subject: environmentId,
    idempotencyKey: environmentId,
    maxAttempts: 1_000,
    attemptTimeoutMs: 3_600_000,
  };
}

/** Makes the life of environments. */
export function createEnvironmentLifecycle({
  metadata,
  bus,
  clock,
  invalidate,
}: {
  readonly metadata: MetadataStore;
  readonly bus: Bus;
  readonly clock: Clock;
  /** Makes this node read environments anew. */
  readonly invalidate: () => void;
}): EnvironmentLifecycle {
  const changed = (id: string): void => {
    invalidate();
    bus.publish("environments", id);
  };
  const gone = ({ name }: EnvironmentRecord): Failure => new Failure("not_found", `Environment '${name}' was deleted meanwhile.`);
  const stateAfter = async (environment: EnvironmentRecord, suspendedAt: number | undefined) => {
    const isChanged = await metadata.suspendEnvironment(environment.id, suspendedAt);
    const after = await metadata.environment(environment.id);
    if (!after) throw gone(environment);
    if (isChanged) changed(environment.id);
    return { environment: after, changed: isChanged };
  };

  const taken = ({ projectName }: EnvironmentRecord, name: string): Failure =>
    new Failure("already_exists", `Project '${projectName}' has an environment '${name}' already.`, {
      hint: "`svc environment list` shows all.",
    });

  return {
    changed: ({ id }) => changed(id),

    async checkRename(environment, name) {
      checkName("environment", name);
      const { teamId, projectId: project, id } = environment;
      const found = await metadata.findEnvironment({ teamId, project, environment: name });
      if (found && found.id !== id) throw taken(environment, name);
    },

    async rename(environment, name) {
      checkName("environment", name);
      const outcome = await metadata.renameEnvironment(environment.id, name);
      if (outcome === "missing") throw gone(environment);
      if (outcome === "taken") throw taken(environment, name);
      changed(environment.id);
      return { ...environment, name };
    },

    suspend: (environment) => stateAfter(environment, clock.now()),
    resume: (environment) => stateAfter(environment, undefined),
    contents: ({ id }) => metadata.contents(id),

    async remove(environment) {
      const now = clock.now();
      const outcome = await metadata.removeEnvironment(environment.id, now, erasureJob(newId("job", now), environment.id));
      if (outcome === "missing") throw gone(environment);
      if (outcome === "last")
        throw new Failure("failed_precondition", `Environment '${environment.name}' is the last one of the server, which needs one.`, {
          hint: "Make another one first: `svc environment create <name>`.",
        });
      changed(environment.id);
      bus.publish("live");
      bus.publish("documents");
      bus.publish("jobs");
    },
  };
}
