import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Make, change and revoke credentials of programs",
  category: "Server and account",
  alsoAt: ["token service"],
  examples: ["svc service-token list", "svc service-token create --name ci --role developer"],
});
