import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Find the tables of the store that keeps history",
  category: "Server and account",
  examples: ["svc offline-store table user.score", "svc offline-store table user.score --include-historical"],
});
