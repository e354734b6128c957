import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Install what works with svc beside it",
  category: "Set up",
  examples: [
    { run: "svc install agent-skill write-features --path skills", does: "A guide for coding agents, in a folder of your choice" },
  ],
});
