import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { escapeControls, readableName } from "../../domain/name.ts";
import { searchNames } from "../../domain/search.ts";
import { textView } from "../../output/view.ts";

export default defineCommand({
  summary: "Search features",
  description:
    "The letters of the pattern must occur in order; with * or ? it is a glob that the whole name must fit. Best matches come first.",
  examples: ["svc features search usremail", { run: "svc features search 'user.*count*'", does: "Search by glob" }],
  needs: ["session"],
  args: { pattern: arg("letters of the name, or a glob with * and ?") },
  async run({ api, progress }, { pattern }) {
    const { features } = await (await api.graph()).listFeatures({});
    const found = searchNames(
      pattern,
      features.map(({ feature }) => readableName(feature?.fqn ?? "")),
    );
    if (found.length === 0) progress.note("No features found.");
    return { features: found };
  },
  view: textView(({ features }: { features: string[] }) => features.map(escapeControls).join("\n")),
});
