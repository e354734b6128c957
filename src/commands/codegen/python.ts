import { relative } from "node:path";
import { defineCommand } from "../../cli/command.ts";
import { bool } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { CliError } from "../../errors/cli-error.ts";
import { chosenFeatures, GRAPH_DESCRIPTION, graphFlags } from "./graph-flags.ts";
import { emit, type Generated, generatedView, outFlags } from "./out-flags.ts";

export default defineCommand({
  summary: "Generate feature definitions for the Python client",
  description: `Classes whose features SvcClient takes, such as client.query({User.id: 1}, [User.name]), for programs that have not the project itself: types, windows and relations, and nothing that computes. ${GRAPH_DESCRIPTION}`,
  examples: [
    "svc codegen python --out features.py",
    { run: "svc codegen python --live --dtypes", does: "Of what is live, with the platform's types" },
  ],
  flags: {
    ...outFlags,
    includeDtypes: bool("state the platform's type of each feature", { aliases: ["--dtypes", "--dtype"] }),
    ...graphFlags,
  },
  async run(context, input): Promise<Generated> {
    const model = await chosenFeatures(context, input);
    const { generatePython } = await import("../../codegen/python.ts");
    const generated = await emit(context, input, generatePython(model, { dtypes: input.includeDtypes }));
    if (generated.path !== undefined) await warnOfTwice(context, generated.path);
    return generated;
  },
  view: generatedView,
});

/** Warns when the file is one of the project, whose features it defines a second time. */
async function warnOfTwice(context: Context, path: string): Promise<void> {
  const project = await context.project().catch((error: unknown) => {
    if (error instanceof CliError) return undefined;
    throw error;
  });
  const own = project && relative(project.root, path).replaceAll("\\", "/");
  if (!project || !(await project.files()).some((file) => file.path === own)) return;
  context.progress.warn(`${own} is among the project's files, whose features it defines a second time: move it, or name it in .svcignore`);
}
