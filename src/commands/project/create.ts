import type { CreateProjectResponse } from "../../../gen/svc/v1/project_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, list, text } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";

export default defineCommand({
  summary: "Create a project on the server",
  description: "`svc apply` creates the project of its folder itself, for a caller who may (permission settings.write).",
  examples: [
    "svc project create risk",
    { run: "svc project create risk --environments dev,prod --json", does: "With other environments than `default`" },
  ],
  needs: ["session"],
  args: { name: arg("name of the project, as in svc.yaml") },
  flags: {
    environments: list(text("environment of the project; repeatable", { defaultText: "default", placeholder: "<name>" }), { split: true }),
  },
  run: async ({ api }, { environments, name }) => (await api.projects()).createProject({ name, environments }),
  view: resourceFields(({ project }: CreateProjectResponse) => project, { id: "Created", name: "Name", environments: "Environments" }),
});
