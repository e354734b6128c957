import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "List cluster events",
  examples: ["svc kube events list"],
});
