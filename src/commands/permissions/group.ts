import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "List permissions and roles",
  category: "Server and account",
  examples: ["svc permissions list"],
});
