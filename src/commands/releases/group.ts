import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "List releases of svc",
  category: "This tool",
  examples: ["svc releases list", { run: "svc releases list --json", does: "With the notes in full" }],
});
