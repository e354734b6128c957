import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "List, show and test clusters",
  category: "Server and account",
  aliases: ["cluster"],
  examples: ["svc clusters list", "svc clusters describe clstr_local", "svc clusters test clstr_local"],
});
