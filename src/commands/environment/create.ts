import type { CreateEnvironmentResponse } from "../../../gen/svc/v1/environment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, text } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";

export default defineCommand({
  summary: "Create an environment in a project",
  description: "`svc apply` creates the environments that svc.yaml names below `environments:` itself.",
  examples: ["svc environment create staging", { run: "svc environment create prod --project risk --json", does: "In another project" }],
  needs: ["session"],
  args: { name: arg("name of the environment") },
  flags: { project: text("project, by name or id", { defaultText: "that of the folder, else the oldest", placeholder: "<project>" }) },
  run: async ({ api }, { name, project }) => (await api.environments()).createEnvironment({ name, project: project ?? "" }),
  view: resourceFields(({ environment }: CreateEnvironmentResponse) => environment, {
    id: "Created",
    name: "Name",
    projectName: "Project",
  }),
});
