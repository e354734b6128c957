import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Connect sources and resolvers to other systems",
  category: "Server and account",
  aliases: ["integrations"],
  examples: ["svc integration list", { run: "svc integration apply --file pg.yaml", does: "name, kind and environment_variables" }],
});
