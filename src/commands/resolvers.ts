import type { Resolver } from "../../gen/svc/v1/graph_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { inputPaths, resolverJson, resolverKind } from "../domain/feature-json.ts";
import { readableName } from "../domain/name.ts";
import { tableView } from "../output/view.ts";

export default defineCommand({
  summary: "Show resolvers and the features they resolve",
  category: "Query and explore",
  selfVerbs: ["list", "display"],
  examples: ["svc resolvers", "svc resolvers --json"],
  needs: ["session"],
  async run({ api }) {
    return (await (await api.graph()).listResolvers({})).resolvers;
  },
  view: tableView({
    things: "resolvers",
    long: true,
    rows: (resolvers: Resolver[]) => resolvers,
    columns: [
      { header: "Resolver", cell: (resolver: Resolver) => resolver.fqn },
      { header: "Kind", cell: resolverKind },
      { header: "Inputs", cell: (resolver) => resolver.inputs.flatMap(inputPaths).map(readableName).join(", ") },
      { header: "Outputs", cell: (resolver) => resolver.outputs.map(readableName).join(", ") },
    ],
    json: (resolvers) => ({ resolvers: resolvers.map(resolverJson) }),
  }),
});
