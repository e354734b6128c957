/** The graph that code is generated of: the project's folder, or what is deployed. */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { InputOf } from "../../cli/command.ts";
import { bool, text } from "../../cli/flag.ts";
import type { FeatureModel } from "../../codegen/feature-model.ts";
import type { Context } from "../../context/context.ts";
import { validateProject } from "../../deploy/validate.ts";
import { isError } from "../../domain/finding.ts";
import { CliError } from "../../errors/cli-error.ts";

/** Which graph. */
export const graphFlags = {
  deploymentId: text("deployment whose features are meant", { aliases: ["--deployment"], placeholder: "<deployment>", group: "Features" }),
  live: bool("the features that are live, not those of the folder", { group: "Features" }),
};

/** What the flags mean, for descriptions. */
export const GRAPH_DESCRIPTION =
  "The features are those of the project's folder, which needs no server. With --live, --branch or --deployment, and outside of a project, they are " +
  "those of the live deployment, of the branch's, or of that one.";

/** The features that are meant. Throws CliError. */
export async function chosenFeatures(context: Context, { deploymentId = "", live }: InputOf<typeof graphFlags>): Promise<FeatureModel> {
  const { featureModel } = await import("../../codegen/feature-model.ts");
  const { branch } = context.flags;
  const name = await projectName(context);
  if (name !== undefined && !live && deploymentId === "" && branch === undefined)
    return featureModel(await folderGraph(context), `the project ${name}`);
  const { deploymentId: answered, graph } = await (await context.api.graph()).getGraph({ deploymentId });
  if (!graph) throw new CliError("the server answered without a graph", { code: "broken_answer" });
  return featureModel(graph, deploymentId === "" ? placeOf(branch, name) : `the deployment ${answered}`);
}

/** The name of the project around the folder; undefined when it is in none. */
async function projectName(context: Context): Promise<string | undefined> {
  try {
    return (await context.project()).name;
  } catch (error) {
    if (error instanceof CliError && error.code === "no_project") return undefined;
    throw error;
  }
}

function placeOf(branch: string | true | undefined, project: string | undefined): string {
  const where = project === undefined ? "what is live" : `the project ${project}, as it is live`;
  return typeof branch === "string" && branch !== "" ? `${where}, on the branch ${branch}` : where;
}

async function folderGraph(context: Context): Promise<Graph> {
  const { diagnostics, graph } = await validateProject(context, { remote: false });
  const errors = diagnostics.filter(isError);
  const [first] = errors;
  if (first) {
    const place = first.span ? `${first.span.file}:${first.span.line}: ` : "";
    const others = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
    throw new CliError(`the project has errors: ${place}${first.message}${others}`, {
      code: "project_errors",
      hint: "`svc lint --local` shows them. With --live, code is generated of what is deployed.",
    });
  }
  if (!graph) throw new CliError("the project could not be read", { code: "project_errors", hint: "`svc lint --local` says why." });
  return graph;
}
