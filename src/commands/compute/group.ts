import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Call functions of the project with arguments",
  category: "Query and explore",
  examples: [
    "svc compute list",
    { run: "svc compute call --name fee -i amounts.arrow -o fees.arrow", does: "A function, for the rows of a file" },
  ],
});
