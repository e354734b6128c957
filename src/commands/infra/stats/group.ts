import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Print counters in Prometheus' text format",
  examples: ["svc infra stats metrics", "svc infra stats gateway --json"],
});
