import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "The project's environment as a kernel of Jupyter",
  examples: [{ run: "svc notebook kernel install", does: "JupyterLab and VS Code offer it from then on" }],
});
