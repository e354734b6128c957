import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Find the tables of history, and connect stores for it",
  category: "Server and account",
  examples: [
    "svc offline-store table user.score",
    "svc offline-store table user.score --include-historical",
    "svc offline-store connection list",
  ],
});
