import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Start components again",
  examples: ["svc infra resume telemetry", "svc infra resume gateway --yes"],
});
