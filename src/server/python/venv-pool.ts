/**
 * The pools of a deployment as one: the workers of the environment's own requirements, and those of
 * each venv, to which the calls of its resolvers go.
 */

import type { PoolHealth, PythonPool } from "./pool.ts";

/** Pools of venvs beside the one of the environment's own requirements. */
export interface VenvPools {
  readonly own: PythonPool;
  /** By name. */
  readonly venvs: ReadonlyMap<string, PythonPool>;
  /** Names of venvs by FQN of the resolvers that run there. */
  readonly venvOf: ReadonlyMap<string, string>;
}

/** Makes one pool of several. */
export function createVenvPool({ own, venvs, venvOf }: VenvPools): PythonPool {
  const pools = [own, ...venvs.values()];
  const poolOf = (resolver: string): PythonPool => venvs.get(venvOf.get(resolver) ?? "") ?? own;
  return {
    call: (call) => poolOf(call.resolver).call(call),
    health(resolver) {
      if (resolver !== undefined) return poolOf(resolver).health();
      const states = pools.map((pool) => pool.health());
      const sick = states.find(({ degraded }) => degraded) ?? states.find(({ lastFailure }) => lastFailure !== undefined);
      const workers = states.reduce((sum, state) => sum + state.workers, 0);
      return {
        workers,
        degraded: sick?.degraded === true,
        ...(sick?.lastFailure && { lastFailure: sick.lastFailure }),
      } satisfies PoolHealth;
    },
    resize(atLeast) {
      for (const pool of pools) pool.resize?.(atLeast);
    },
    async drain(graceMs) {
      const drained = await Promise.allSettled(pools.map((pool) => pool.drain(graceMs)));
      const failed = drained.find((result) => result.status === "rejected");
      if (failed) throw failed.reason;
    },
  };
}
