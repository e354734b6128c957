/** The choice of a workflow. */

import type { Context } from "../../context/context.ts";
import { givenOrPicked } from "../pick-flags.ts";

/** The id of a workflow that was given, or else is picked on a terminal. */
export async function pickWorkflow(context: Pick<Context, "api" | "prompt">, given: string | undefined): Promise<string> {
  return givenOrPicked(context, given, {
    question: "Which workflow?",
    flag: "<id>",
    list: async () =>
      (await (await context.api.workflows()).listWorkflows({})).workflows.map(({ id, subject }) => ({
        id,
        name: `${subject} ${id}`.trim(),
      })),
  });
}
