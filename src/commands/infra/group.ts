import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Describe, change, suspend and resume server components",
  category: "Server and account",
  examples: ["svc infra describe metrics", "svc infra stats gateway", "svc infra suspend telemetry", "svc infra resume telemetry"],
});
