import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Create and update components from their specs",
  examples: ["svc infra apply metrics --storage 1Gi --yes", "svc infra apply gateway --file gateway.yaml"],
});
