import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Push messages to topics",
  category: "Query and explore",
  examples: ["svc topic push --topic clicks --value 1 --key u1"],
});
