/**
 * The environments as what runs in them depends on them: suspended or not, and their names. It
 * follows the store, so that every node stops, starts and restarts alike.
 */

import type { Clock } from "../../context/clock.ts";
import { Failure } from "../failure.ts";
import type { Bus } from "../jobs/bus.ts";
import type { Log } from "../log.ts";
import { followStore } from "../nodes/follow.ts";
import type { EnvironmentRecord, IdentityStore } from "../stores/metadata/identity.ts";

/** What is to be done when an environment changes. */
export interface EnvironmentChanges {
  /** Stops everything of an environment that was suspended or removed. */
  stop(environmentId: string, reason: string): void;
  /** Starts what is live in an environment that was resumed. */
  start(environmentId: string): void;
  /** Starts what runs in an environment anew, with its new name. */
  restart(environmentId: string): void;
}

/** Which environments are protected, so that their deployments need approval, as is stored now. */
export interface Protection {
  isProtected(environmentId: string): Promise<boolean>;
  /** Ids of all that are. */
  all(): Promise<ReadonlySet<string>>;
}

/** The states. */
export interface EnvironmentStates {
  /** Why nothing may run in an environment: it is suspended. Undefined when it may. */
  refusal(environmentId: string): string | undefined;
  /** Whether what runs in an environment needs approval, as this node knows. */
  isProtected(environmentId: string): boolean;
  /**
   * A signal that is aborted, with a reason in words, when an environment is suspended or removed.
   */
  signal(environmentId: string): AbortSignal;
  stop(): Promise<void>;
}

/** The failure of what needs an environment that is suspended. */
export function suspended({ id, name }: Pick<EnvironmentRecord, "id" | "name">): Failure {
  return new Failure("suspended", `Environment '${name}' is suspended: it answers no queries and runs nothing.`, {
    hint: `\`svc environment resume --environment ${id}\` starts it again.`,
  });
}

/** An environment as it was last read. */
interface State {
  readonly name: string;
  readonly isSuspended: boolean;
  readonly isProtected: boolean;
}

/** Reads the states and follows them. */
export async function followEnvironments(options: {
  readonly metadata: Pick<IdentityStore, "environments">;
  readonly protection: Protection;
  readonly changes: EnvironmentChanges;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
}): Promise<EnvironmentStates> {
  const { metadata, protection, changes, bus, clock, log } = options;
  const aborts = new Map<string, AbortController>();

  const readStates = async (): Promise<ReadonlyMap<string, State>> => {
    const [environments, guarded] = [await metadata.environments(), await protection.all()];
    return new Map(
      environments.map(({ id, name, suspendedAt }) => [id, { name, isSuspended: suspendedAt !== undefined, isProtected: guarded.has(id) }]),
    );
  };
  let states = await readStates();

  const reasonOf = (state: State | undefined): string | undefined => {
    if (!state) return "its environment was deleted";
    return state.isSuspended ? `environment '${state.name}' is suspended` : undefined;
  };
  const reread = async (): Promise<void> => {
    const before = states;
    states = await readStates();
    for (const [id, state] of before) {
      const now = states.get(id);
      const reason = reasonOf(now);
      if (reason !== undefined && reasonOf(state) === undefined) {
        aborts.get(id)?.abort(reason);
        aborts.delete(id);
        changes.stop(id, reason);
      } else if (reason === undefined && state.isSuspended) changes.start(id);
      else if (reason === undefined && now?.name !== state.name) changes.restart(id);
    }
  };
  const following = followStore({ bus, topic: "environments", clock, log, read: reread });

  return {
    refusal(environmentId) {
      const state = states.get(environmentId);
      return state?.isSuspended ? reasonOf(state) : undefined;
    },
    isProtected: (environmentId) => states.get(environmentId)?.isProtected === true,
    signal(environmentId) {
      const found = aborts.get(environmentId) ?? new AbortController();
      aborts.set(environmentId, found);
      return found.signal;
    },
    stop: () => following.stop(),
  };
}
