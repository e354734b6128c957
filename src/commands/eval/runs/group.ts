import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Show runs of evaluations",
  examples: ["svc eval runs list", "svc eval runs list --evaluation answers"],
});
