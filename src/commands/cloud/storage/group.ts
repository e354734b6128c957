import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Set up buckets",
  examples: ["svc cloud storage configs list"],
});
