import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Notebooks: run cells on the server, keep what they give",
  category: "Query and explore",
  examples: [
    'svc notebook create --title "First look"',
    { run: "svc notebook exec '1 + 1' --name \"First look\"", does: "Add a cell and run it" },
    { run: 'svc notebook preview --name "First look"', does: "All cells, with what they gave" },
  ],
});
