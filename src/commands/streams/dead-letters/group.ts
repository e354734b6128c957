import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Show what a stream could not read, and compute it again",
  category: "Query and explore",
  examples: [
    "svc streams dead-letters list on_payment",
    { run: "svc streams dead-letters replay on_payment", does: "Once they can be read" },
  ],
});
