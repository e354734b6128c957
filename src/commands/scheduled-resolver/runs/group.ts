import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Show runs of resolvers",
  examples: ["svc scheduled-resolver runs list", "svc scheduled-resolver runs list --start 24h"],
});
