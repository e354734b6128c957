import { defineGroup } from "../../../../cli/command.ts";

export default defineGroup({
  summary: "List, show, create, test and delete storage configurations",
  aliases: ["config"],
  examples: ["svc cloud storage configs list", "svc cloud storage configs create storage.json"],
});
