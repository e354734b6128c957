import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show the queue of jobs, and what waits for what",
  category: "Server and account",
  aliases: ["job"],
  examples: ["svc jobs list", { run: "svc jobs get 12", does: "One with its attempts, and what it waits for" }],
});
