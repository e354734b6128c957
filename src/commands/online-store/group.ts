import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Describe the store that serves features",
  category: "Server and account",
  examples: ["svc online-store describe"],
});
