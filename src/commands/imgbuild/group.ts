import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Show builds of environments and images",
  category: "Build and deploy",
  examples: ["svc imgbuild list", { run: "svc imgbuild list --phase failed", does: "Builds that failed" }],
});
