/** The progress of what runs incrementally, as callers see and set it. */

import type { Deployments } from "../deployments/deployments.ts";
import { resolverNamed, scheduledQueryNamed } from "../deployments/graph-names.ts";
import { Failure } from "../failure.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { IncrementalKey, IncrementalProgress, IncrementalStore } from "../stores/metadata/incremental.ts";

/** A resolver by its FQN or last part, or a scheduled query. One of them is empty. */
export interface IncrementalSubject {
  readonly resolver: string;
  readonly scheduledQuery: string;
}

/** Progress with whose it is. */
export interface SubjectProgress {
  readonly key: IncrementalKey;
  readonly progress: IncrementalProgress;
}

/** The capability. */
export interface IncrementalRuns {
  /** Rejects with Failure not_found, invalid_argument or failed_precondition. */
  progress(environment: EnvironmentRecord, subject: IncrementalSubject): Promise<SubjectProgress>;
  /** Sets the times that are given, in microseconds since 1970. Rejects as `progress` does. */
  set(
    environment: EnvironmentRecord,
    subject: IncrementalSubject,
    times: Partial<Pick<IncrementalProgress, "maxIngested" | "lastExecution">>,
  ): Promise<SubjectProgress>;
  /** Forgets the times; says whether there were any. Rejects as `progress` does. */
  drop(environment: EnvironmentRecord, subject: IncrementalSubject): Promise<SubjectProgress & { readonly dropped: boolean }>;
}

/** Makes the capability. */
export function createIncrementalRuns({
  incremental,
  deployments,
}: {
  readonly incremental: IncrementalStore;
  readonly deployments: Pick<Deployments, "graph" | "resolve">;
}): IncrementalRuns {
  const keyOf = async (environment: EnvironmentRecord, { resolver, scheduledQuery }: IncrementalSubject): Promise<IncrementalKey> => {
    if ((resolver === "") === (scheduledQuery === ""))
      throw new Failure("invalid_argument", "Name either a resolver or a scheduled query.", {
        hint: "`svc scheduled-resolver list` and `svc scheduled-query list` show them.",
      });
    const graph = await deployments.graph(await deployments.resolve({ environment, branch: "", deploymentId: "" }));
    if (resolver !== "") {
      const { fqn, body } = resolverNamed(graph, resolver);
      if (body.case !== "sql" || !body.value.incremental) throw notIncremental(`Resolver ${fqn}`, "its SQL file has no `incremental`");
      return { environmentId: environment.id, kind: "resolver", name: fqn };
    }
    const query = scheduledQueryNamed(graph, scheduledQuery);
    if (query.incrementalResolvers.length === 0) throw notIncremental(`Scheduled query ${query.name}`, "it has no `incremental_resolvers`");
    return { environmentId: environment.id, kind: "query", name: query.name };
  };
  const shown = async (key: IncrementalKey): Promise<SubjectProgress> => ({ key, progress: await incremental.progress(key) });

  return {
    progress: async (environment, subject) => shown(await keyOf(environment, subject)),

    async set(environment, subject, times) {
      const key = await keyOf(environment, subject);
      if (times.maxIngested === undefined && times.lastExecution === undefined)
        throw new Failure("invalid_argument", "Nothing is set: give a time.", { hint: "`--max_ingested_ts` or `--last_execution_ts`." });
      return { key, progress: await incremental.set(key, times) };
    },

    async drop(environment, subject) {
      const key = await keyOf(environment, subject);
      const dropped = await incremental.drop(key);
      return { ...(await shown(key)), dropped };
    },
  };
}

function notIncremental(what: string, why: string): Failure {
  return new Failure("failed_precondition", `${what} does not run incrementally: ${why}.`, {
    hint: "Each of its runs reads everything, so there is no progress.",
  });
}
