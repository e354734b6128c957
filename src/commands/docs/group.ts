import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Read what describes this version",
  category: "This tool",
  examples: ["svc docs proto", { run: "svc docs proto --out ./proto", does: "The files that clients in other languages are made of" }],
});
