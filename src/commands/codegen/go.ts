import { basename, dirname } from "node:path";
import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { chosenFeatures, GRAPH_DESCRIPTION, graphFlags } from "./graph-flags.ts";
import { emit, type Generated, generatedView, outFlags } from "./out-flags.ts";

export default defineCommand({
  summary: "Generate Go structs",
  description: `One file: a struct for each class, the names of all features with their types, and a client that needs the standard library alone (Go 1.22 or newer). ${GRAPH_DESCRIPTION}`,
  examples: ["svc codegen go --out features/features.go", "svc codegen go --package risk > features.go"],
  flags: {
    ...outFlags,
    package: text("package of the file", { placeholder: "<name>", defaultText: "that of the files beside it, else the folder's name" }),
    ...graphFlags,
  },
  async run(context, input): Promise<Generated> {
    const [{ generateGo, goPackageOf, isGoPackage }, { firstAmong, neighbours }] = await Promise.all([
      import("../../codegen/go.ts"),
      import("../../codegen/neighbours.ts"),
    ]);
    const { out } = input;
    const folder = out === undefined || out === "-" ? context.flags.dir : dirname(out);
    const beside = async (): Promise<string> => {
      const found = await firstAmong(neighbours(folder, ".go"), (file) => (file.path === out ? undefined : goPackageOf(file.text)));
      const own = basename(folder)
        .toLowerCase()
        .replace(/[^a-z0-9]/g, "");
      return found?.replace(/_test$/, "") ?? (isGoPackage(own) ? own : "features");
    };
    const name = input.package ?? (await beside());
    if (!isGoPackage(name)) throw new UsageError(`'${name}' cannot be the name of a Go package`, { hint: "Name one: --package=features" });
    return emit(context, input, generateGo(await chosenFeatures(context, input), name));
  },
  view: generatedView,
});
