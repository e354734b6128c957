import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "List deliveries, and make failed ones again",
  examples: ["svc webhook deliveries list", "svc webhook deliveries list --state dead"],
});
