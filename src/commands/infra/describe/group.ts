import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Print the specs of components",
  examples: ["svc infra describe metrics", "svc infra describe volumes"],
});
