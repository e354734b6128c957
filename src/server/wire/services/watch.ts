/** WatchService: hints of changes. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { WatchResponseSchema, WatchService, WatchTopic } from "../../../../gen/svc/v1/watch_pb.ts";
import { allows, type PermissionName } from "../../../domain/permissions.ts";
import { resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import type { ChangeTopic } from "../../jobs/changes.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";

/** The topics, and what the methods need that read what they are of. */
const TOPICS: Readonly<Record<ChangeTopic, { readonly topic: WatchTopic; readonly needs: PermissionName }>> = {
  deployments: { topic: WatchTopic.DEPLOYMENTS, needs: "read" },
  runs: { topic: WatchTopic.RUNS, needs: "read" },
  schedules: { topic: WatchTopic.SCHEDULES, needs: "read" },
  queries: { topic: WatchTopic.QUERIES, needs: "query.online" },
  logs: { topic: WatchTopic.LOGS, needs: "query.online" },
  metrics: { topic: WatchTopic.METRICS, needs: "read" },
  monitors: { topic: WatchTopic.MONITORS, needs: "read" },
  streams: { topic: WatchTopic.STREAMS, needs: "read" },
  notebooks: { topic: WatchTopic.NOTEBOOKS, needs: "read" },
};
const NAMES = Object.keys(TOPICS) as ChangeTopic[];

/** Adds the service to a router. */
export function register(router: ConnectRouter, { environments, recentChanges, stopping }: Platform): void {
  router.service(WatchService, {
    async *watch({ topics: wanted, cursor }, context) {
      const caller = callerOf(context);
      const topics = topicsOf(wanted);
      for (const name of topics)
        if (!allows(caller.permissions, TOPICS[name].needs))
          throw new Failure(
            "permission_denied",
            `The credentials lack the permission '${TOPICS[name].needs}', which hints of ${name} need.`,
            {
              hint: "Leave them out, or use credentials that have it.",
            },
          );
      const { environment } = await resolveScope(environments, caller, context.requestHeader);
      const followed = { environmentId: environment.id, topics, cursor };
      for await (const told of recentChanges.follow(followed, AbortSignal.any([context.signal, stopping])))
        yield create(WatchResponseSchema, {
          topics: told.topics.map((name) => TOPICS[name].topic),
          cursor: told.cursor,
          missed: told.missed,
          skipped: BigInt(told.skipped),
        });
      if (stopping.aborted) throw new Failure("unavailable", "The server stops.", { hint: "Try again." });
    },
  });
}

/** Throws Failure invalid_argument for no topic, one twice, and one that there is not. */
function topicsOf(wanted: readonly WatchTopic[]): ReadonlySet<ChangeTopic> {
  const topics = new Set(NAMES.filter((name) => wanted.includes(TOPICS[name].topic)));
  if (wanted.length === 0 || topics.size !== wanted.length)
    throw new Failure("invalid_argument", "A stream of hints names topics that there are, each once, and at least one.");
  return topics;
}
