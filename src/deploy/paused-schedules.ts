/** What a deployment to an environment defines with a schedule that somebody paused there. */

import type { Graph } from "../../gen/svc/v1/graph_pb.ts";
import type { Context } from "../context/context.ts";
import { escapeControls } from "../domain/name.ts";

/**
 * A line for people about schedules of a graph that stay paused; undefined without any. What cannot
 * be read, for example without the permission for it, is not worth failing a deployment.
 */
export async function pausedSchedules({ api }: Pick<Context, "api">, graph: Graph): Promise<string | undefined> {
  const resolvers = new Set(graph.resolvers.flatMap(({ fqn, schedule }) => (schedule === "" ? [] : [fqn])));
  const queries = new Set(graph.scheduledQueries.map(({ name }) => name));
  const [ofResolvers, ofQueries] = await Promise.all([
    resolvers.size === 0 ? [] : api.resolverRuns().then(async (service) => (await service.listScheduledResolvers({})).resolvers),
    queries.size === 0 ? [] : api.scheduledQueries().then(async (service) => (await service.listScheduledQueries({})).scheduledQueries),
  ]).catch(() => [[], []]);
  const commands = [
    ...ofResolvers.flatMap(({ paused, resolver }) =>
      paused && resolvers.has(resolver) ? [`svc scheduled-resolver resume ${resolver}`] : [],
    ),
    ...ofQueries.flatMap(({ name, paused }) => (paused && queries.has(name) ? [`svc scheduled-query resume ${name}`] : [])),
  ];
  if (commands.length === 0) return undefined;
  const which = commands.length === 1 ? "A schedule stays" : `${commands.length} schedules stay`;
  return `${which} paused, until ${commands.map((command) => `\`${escapeControls(command)}\``).join(", ")}.`;
}
