/** IncrementalService: how far incremental runs have read. */

import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { IncrementalService, type IncrementalSubject } from "../../../../gen/svc/v1/incremental_pb.ts";
import { microsToTimestamp, timestampToMicros } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import type { SubjectProgress } from "../../resolver-runs/incremental.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const environmentOf = async (context: HandlerContext): Promise<EnvironmentRecord> =>
    (await resolveScope(platform.environments, callerOf(context), context.requestHeader)).environment;
  const runs = async () => (await platform.resolverRuns()).incremental;

  router.service(IncrementalService, {
    async getIncrementalProgress({ subject }, context) {
      const environment = await environmentOf(context);
      return { progress: message(await (await runs()).progress(environment, named(subject)), environment) };
    },

    async setIncrementalProgress({ subject, maxIngestedAt, lastExecutionAt }, context) {
      const environment = await environmentOf(context);
      const times = {
        maxIngested: maxIngestedAt && Number(timestampToMicros(maxIngestedAt)),
        lastExecution: lastExecutionAt && Number(timestampToMicros(lastExecutionAt)),
      };
      const given = Object.fromEntries(Object.entries(times).filter(([, micros]) => micros !== undefined));
      return { progress: message(await (await runs()).set(environment, named(subject), given), environment) };
    },

    async dropIncrementalProgress({ subject }, context) {
      const environment = await environmentOf(context);
      const { dropped, ...left } = await (await runs()).drop(environment, named(subject));
      return { progress: message(left, environment), dropped };
    },
  });
}

function named(subject: IncrementalSubject | undefined) {
  return { resolver: subject?.resolverName ?? "", scheduledQuery: subject?.scheduledQueryName ?? "" };
}

function message({ key, progress: { maxIngested, lastExecution } }: SubjectProgress, environment: EnvironmentRecord) {
  return {
    resolver: key.kind === "resolver" ? key.name : "",
    scheduledQuery: key.kind === "query" ? key.name : "",
    environment: environment.name,
    ...(maxIngested !== undefined && { maxIngestedAt: microsToTimestamp(BigInt(maxIngested)) }),
    ...(lastExecution !== undefined && { lastExecutionAt: microsToTimestamp(BigInt(lastExecution)) }),
  };
}
