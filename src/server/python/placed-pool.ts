/**
 * The pools of a deployment as one: calls go to the workers of the place where their code runs,
 * which is a venv in a resource group, or to those of the group that a job was submitted to.
 */

import type { PoolHealth, PythonPool, ResolverCalls } from "./pool.ts";

/** Where code of a deployment runs. */
export interface Place {
  /** Empty = the deployment's own requirements. */
  readonly venv: string;
  /** Resource group. */
  readonly group: string;
}

/** Workers, and the calls that go to them. */
export interface PlacedWorkers {
  /** Names of calls, such as FQNs of resolvers. */
  readonly names: readonly string[];
  readonly pool: PythonPool;
}

/** The pools of a deployment. */
export interface PlacedPools {
  /** Those of calls that no other has. */
  readonly own: PythonPool;
  /** Those of resolvers, each with its place; that of `own` among them, if it has workers. */
  readonly resolvers: readonly (PlacedWorkers & { readonly place: Place })[];
  /** Those of functions, which no job's group changes. */
  readonly functions: readonly PlacedWorkers[];
  /** A pool of a place that no resolver is in, whose workers its first call starts. */
  readonly start: (place: Place) => PythonPool;
}

/** Makes one pool of several. */
export function createPlacedPool({ own, resolvers, functions, start }: PlacedPools): PythonPool {
  const poolOf = new Map([...resolvers, ...functions].flatMap(({ names, pool }) => names.map((name) => [name, pool] as const)));
  const venvOf = new Map(resolvers.flatMap(({ names, place }) => names.map((name) => [name, place.venv] as const)));
  const byPlace = new Map(resolvers.map(({ place, pool }) => [keyOf(place), pool]));
  const started = new Set([own, ...poolOf.values()]);
  let isOver = false;

  const inPlace = (place: Place): PythonPool => {
    const key = keyOf(place);
    const known = byPlace.get(key);
    if (known || isOver) return known ?? own;
    const pool = start(place);
    byPlace.set(key, pool);
    started.add(pool);
    return pool;
  };
  const calledPool = (name: string): PythonPool => poolOf.get(name) ?? own;
  return {
    call: (call) => calledPool(call.resolver).call(call),
    inGroup(group): ResolverCalls {
      const pool = (name = ""): PythonPool => inPlace({ venv: venvOf.get(name) ?? "", group });
      return { call: (call) => pool(call.resolver).call(call), health: (resolver) => pool(resolver).health() };
    },
    health(resolver) {
      if (resolver !== undefined) return calledPool(resolver).health();
      const states = [...started].map((pool) => pool.health());
      const sick = states.find(({ degraded }) => degraded) ?? states.find(({ lastFailure }) => lastFailure !== undefined);
      const workers = states.reduce((sum, state) => sum + state.workers, 0);
      return {
        workers,
        degraded: sick?.degraded === true,
        ...(sick?.lastFailure && { lastFailure: sick.lastFailure }),
      } satisfies PoolHealth;
    },
    resize(atLeast) {
      for (const pool of started) pool.resize?.(atLeast);
    },
    async drain(graceMs) {
      isOver = true;
      const drained = await Promise.allSettled([...started].map((pool) => pool.drain(graceMs)));
      const failed = drained.find((result) => result.status === "rejected");
      if (failed) throw failed.reason;
    },
  };
}

function keyOf({ group, venv }: Place): string {
  return JSON.stringify([venv, group]);
}
