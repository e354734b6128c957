/** The capabilities that have resolvers run by themselves. */

import { createIncrementalRuns, type IncrementalRuns } from "./incremental.ts";
import { createResolverRuns, type ResolverRuns, type ResolverRunsOptions } from "./resolver-runs.ts";
import { createResolverSchedules, type ResolverSchedules } from "./resolver-schedules.ts";

/** Runs, and the schedules that make them. */
export interface ResolverRunCapabilities {
  readonly runs: ResolverRuns;
  readonly schedules: ResolverSchedules;
  /** How far incremental runs have read. */
  readonly incremental: IncrementalRuns;
}

/** Makes the capabilities; schedules are kept once they are started. */
export function createResolverRunCapabilities(options: ResolverRunsOptions): ResolverRunCapabilities {
  return {
    runs: createResolverRuns(options),
    schedules: createResolverSchedules(options),
    incremental: createIncrementalRuns({ incremental: options.metadata.incremental, deployments: options.deployments }),
  };
}
