import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Run cells of Python on the server, and keep what they give",
  category: "Query and explore",
  examples: [
    "svc notebook create --title look",
    { run: "svc notebook exec '1 + 1' --name look", does: "Add a cell and run it" },
    { run: "svc notebook preview --name look", does: "All cells, with what they gave" },
  ],
});
