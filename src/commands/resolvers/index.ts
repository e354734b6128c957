import { defineCommand } from "../../cli/command.ts";
import { resolversView } from "./view.ts";

export default defineCommand({
  summary: "Show resolvers and the features they resolve",
  category: "Query and explore",
  selfVerbs: ["list", "display"],
  examples: ["svc resolvers", "svc resolvers --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.graph()).listResolvers({}),
  view: resolversView,
});
