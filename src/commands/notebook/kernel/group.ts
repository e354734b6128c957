import { defineGroup } from "../../../cli/command.ts";

export default defineGroup({
  summary: "Offer the project's environment to Jupyter",
  examples: [{ run: "svc notebook kernel install", does: "JupyterLab and VS Code offer it from then on" }],
});
