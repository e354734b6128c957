import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Stop components on all nodes of the server",
  examples: ["svc infra suspend telemetry", "svc infra suspend gateway --yes"],
});
