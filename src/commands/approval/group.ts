import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Approve or reject changes of protected environments",
  category: "Build and deploy",
  aliases: ["approvals"],
  examples: ["svc approval list", { run: "svc approval approve apr_0198c0de", does: "Make a change that another person asked for" }],
});
