import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "See usage by resource group",
  examples: ["svc usage resource-group pods"],
});
