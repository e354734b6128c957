/** The deployment that a command is about. */

import { optionalArg } from "../../cli/flag.ts";
import { currentBranch } from "../../config/branch.ts";
import type { Context } from "../../context/context.ts";
import { givenOrPicked } from "../pick-flags.ts";
import { stateText } from "./view.ts";

/** The argument that names it. */
export const deploymentArg = { id: optionalArg("id or tag of the deployment", { names: "deployment" }) };

/** The id or tag that was given, else the id that the user picks among the branch's deployments. */
export async function givenDeployment(context: Context, given: string | undefined): Promise<string> {
  return givenOrPicked(context, given, {
    question: "Which deployment?",
    flag: "<id>",
    async list() {
      const branch = (await currentBranch(context)) ?? "";
      const { deployments } = await (await context.api.deployments()).listDeployments({ branch });
      return deployments.map((one) => ({ id: one.id, name: [stateText(one), ...one.tags, one.description.split("\n", 1)[0]].join(" ") }));
    },
  });
}
