import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Set up storage in a cloud",
  category: "Server and account",
  examples: ["svc cloud storage configs list"],
});
