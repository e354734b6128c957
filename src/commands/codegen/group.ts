import { defineGroup } from "../../cli/command.ts";

export default defineGroup({
  summary: "Generate code of features for other programs",
  category: "Build and deploy",
  examples: ["svc codegen typescript --out features.ts", "svc codegen go --out features/features.go"],
});
