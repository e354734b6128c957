import type { DeleteEnvironmentResponse, DescribeContentsResponse } from "../../../gen/svc/v1/environment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { escapeControls } from "../../domain/name.ts";
import { resourceFields } from "../../output/message-view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { givenOrPicked } from "../pick-flags.ts";

export default defineCommand({
  summary: "Delete an environment with everything in it",
  description:
    "Takes along its deployments, branches, stored values, history, logs and settings. The last environment of a project takes the project along; the last one " +
    "of the server stays.",
  examples: ["svc environment delete staging", { run: "svc environment delete staging --force", does: "Without a question" }],
  needs: ["session"],
  args: { environment: optionalArg("environment id or name", { names: "environment" }) },
  flags: confirmFlags,
  async run(context, { environment: given, force }) {
    const { api, progress } = context;
    const service = await api.environments();
    const wanted = await givenOrPicked(context, given, {
      question: "Which environment?",
      flag: "the environment's id or name",
      list: async () => (await service.listEnvironments({})).environments,
    });
    const contents = await service.describeContents({ environment: wanted });
    progress.warn(losses(contents));
    const { id = "", name = "" } = contents.environment ?? {};
    await confirm(context, { force }, `Delete environment '${escapeControls(name)}' (${id})?`);
    return service.deleteEnvironment({ environmentId: id });
  },
  view: resourceFields(({ environment }: DeleteEnvironmentResponse) => environment, {
    id: "Deleted",
    name: "Name",
    projectName: "Project",
  }),
});

/** What goes with the environment, as a sentence. */
function losses({ branches, datasets, deployments, environment, features, isLastOfProject, settings }: DescribeContentsResponse): string {
  const counts = [
    counted(deployments, "deployment"),
    counted(branches, "branch", "branches"),
    `the online and offline values of ${counted(features, "feature")}`,
    counted(datasets, "dataset"),
    counted(settings, "setting"),
  ];
  const project = isLastOfProject
    ? ` It is the only environment of project '${escapeControls(environment?.projectName ?? "")}', which goes with it.`
    : "";
  return `environment '${escapeControls(environment?.name ?? "")}' takes along ${counts.join(", ")}, and its logs; nothing brings them back.${project}`;
}

function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}
