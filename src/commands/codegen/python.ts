import { defineCommand } from "../../cli/command.ts";
import { bool } from "../../cli/flag.ts";
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
    return emit(context, input, generatePython(model, { dtypes: input.includeDtypes }));
  },
  view: generatedView,
});
