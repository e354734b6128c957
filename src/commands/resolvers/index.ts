import { defineCommand } from "../../cli/command.ts";
import { recentRequests } from "../../query-client/recent-requests.ts";
import { type ListedResolvers, resolversView } from "./view.ts";

export default defineCommand({
  summary: "Show resolvers and the features they resolve",
  category: "Query and explore",
  description: "A terminal that is wide enough shows how often each was called, for each hour of the last day.",
  selfVerbs: ["list", "display"],
  examples: ["svc resolvers", "svc resolvers --json"],
  needs: ["session"],
  async run(context): Promise<ListedResolvers> {
    const asked = recentRequests(context, "sum:resolver.count by {resolver}");
    const answer = await (await context.api.graph()).listResolvers({});
    return { ...answer, calls: await asked };
  },
  view: resolversView,
});
