import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Push messages to topics",
  category: "Query and explore",
  examples: [`svc topic push --topic clicks --value '{"user": "randint(100)", "at": "now()"}'`],
});
