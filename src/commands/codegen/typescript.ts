import { defineCommand } from "../../cli/command.ts";
import { int } from "../../cli/flag.ts";
import { CliError } from "../../errors/cli-error.ts";
import { chosenFeatures, GRAPH_DESCRIPTION, graphFlags } from "./graph-flags.ts";
import { emit, type Generated, generatedView, outFlags } from "./out-flags.ts";

export default defineCommand({
  summary: "Generate TypeScript types including FeaturesType",
  description: `FeaturesType has the type of each feature by its name, and of what its relations lead to by the path, for SvcClient<FeaturesType>; each class has an interface for its rows. Types are those of the JSON that the server answers with. ${GRAPH_DESCRIPTION}`,
  examples: [
    "svc codegen typescript --out src/features.ts",
    { run: "svc codegen typescript --max-depth 1", does: "Without what relations lead to" },
  ],
  flags: {
    ...outFlags,
    maxDepth: int("most steps of a feature's path, 1 for those of a class itself", {
      aliases: ["--depth"],
      defaultText: "3",
      min: 1,
      max: 20,
    }),
    ...graphFlags,
  },
  async run(context, input): Promise<Generated> {
    const model = await chosenFeatures(context, input);
    const { generateTypescript, TooManyPaths } = await import("../../codegen/typescript.ts");
    try {
      return await emit(context, input, generateTypescript(model, input.maxDepth));
    } catch (error) {
      if (!(error instanceof TooManyPaths)) throw error;
      throw new CliError(`the relations lead to ${error.message}`, {
        code: "too_many_paths",
        hint: "Take shorter paths: --max-depth 1, or 2.",
        cause: error,
      });
    }
  },
  view: generatedView,
});
