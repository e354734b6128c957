import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Show calls that were kept",
  examples: ["svc compute calls recent", "svc compute calls count --name fee"],
});
