import type { FeatureMetadata } from "../../../gen/svc/v1/graph_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { escapeControls, readableName } from "../../domain/name.ts";
import { textView } from "../../output/view.ts";
import { featureJson } from "./metadata-view.ts";

export default defineCommand({
  summary: "List feature FQNs",
  examples: ["svc features list", "svc features list --json"],
  needs: ["session"],
  async run({ api, progress }) {
    const { features } = await (await api.graph()).listFeatures({});
    if (features.length === 0) progress.note("No features found.");
    return features;
  },
  view: textView(
    (features: FeatureMetadata[]) => features.map(({ feature }) => escapeControls(readableName(feature?.fqn ?? ""))).join("\n"),
    (features) => ({ features: features.map(featureJson) }),
    { long: true },
  ),
});
