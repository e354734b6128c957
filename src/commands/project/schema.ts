import { defineCommand } from "../../cli/command.ts";
import { textView } from "../../output/view.ts";
import type { projectSchema } from "../../project/project-schema.ts";

export default defineCommand({
  summary: "Print the JSON schema of svc.yaml, for editors",
  description:
    "Editors with a language server for YAML complete and check the file by it. Keep it beside svc.yaml, whose first line then names it: " +
    "# yaml-language-server: $schema=svc.schema.json",
  examples: ["svc project schema", "svc project schema > svc.schema.json"],
  run: async () => (await import("../../project/project-schema.ts")).projectSchema(),
  view: textView(
    (schema: ReturnType<typeof projectSchema>) => JSON.stringify(schema, null, 2),
    (schema) => schema,
  ),
});
