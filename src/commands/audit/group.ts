import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show who called what, and prove that nobody changed it",
  category: "Server and account",
  examples: ["svc audit list --since 24h", "svc audit list --code permission_denied", "svc audit verify"],
});
