import type { FeatureMetadata } from "../../../gen/svc/v1/graph_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { escapeControls, readableName } from "../../domain/name.ts";
import { fitsText, searchNames } from "../../domain/name-search.ts";
import { textView } from "../../output/view.ts";
import { featureJson } from "./metadata-view.ts";

/** A feature that matches: by its name, or by the quoted text. */
interface Match {
  readonly name: string;
  readonly metadata: FeatureMetadata;
  readonly text: string | undefined;
}

export default defineCommand({
  summary: "Search features",
  description:
    "The letters of the pattern must occur in order in the name; with * or ? it is a glob that the whole name must fit. Best matches come first, then features " +
    "whose description, owner or tags contain the pattern.",
  examples: ["svc features search usremail", { run: "svc features search 'user.*count*'", does: "Search by glob" }],
  needs: ["session"],
  args: { pattern: arg("letters of the name, a glob with * and ?, or words of a description, an owner or a tag") },
  async run({ api, progress }, { pattern }): Promise<Match[]> {
    const { features } = await (await api.graph()).listFeatures({});
    const byName = new Map(features.map((metadata) => [readableName(metadata.feature?.fqn ?? ""), metadata]));
    const named = searchNames(pattern, [...byName.keys()]);
    const seen = new Set(named);
    const described = [...byName].flatMap(([name, metadata]) => {
      const text = seen.has(name) ? undefined : textsOf(metadata).find((one) => fitsText(pattern, one));
      return text === undefined ? [] : [{ name, metadata, text }];
    });
    const found = [
      ...named.flatMap((name) => {
        const metadata = byName.get(name);
        return metadata ? [{ name, metadata, text: undefined }] : [];
      }),
      ...described,
    ];
    if (found.length === 0) progress.note("No features found.");
    return found;
  },
  view: textView(
    (found: Match[], style) =>
      found
        .map(({ name, text }) => `${escapeControls(name)}${text && style.isTTY ? style.dim(`  ${escapeControls(text)}`) : ""}`)
        .join("\n"),
    (found) => ({ features: found.map(({ metadata }) => featureJson(metadata)) }),
    { long: true },
  ),
});

function textsOf({ feature }: FeatureMetadata): string[] {
  return feature ? [feature.description, feature.owner, ...feature.tags] : [];
}
