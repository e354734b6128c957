import type { FeatureMetadata } from "../../../gen/svc/v1/graph_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { escapeControls, readableName } from "../../domain/name.ts";
import { textView } from "../../output/view.ts";
import { type HourlyValues, recentRequests, withLines } from "../../query-client/recent-requests.ts";
import { featureJson } from "./metadata-view.ts";

/** The features, and how often each was asked for in the hours of the last day. */
interface Listed {
  readonly features: readonly FeatureMetadata[];
  readonly requests: HourlyValues;
}

export default defineCommand({
  summary: "List feature FQNs",
  description: "A terminal that is wide enough shows beside a feature how often queries asked for it, for each hour of the last day.",
  examples: ["svc features list", "svc features list --json"],
  needs: ["session"],
  async run(context): Promise<Listed> {
    const { api, progress } = context;
    const asked = recentRequests(context, "sum:feature.request_count by {feature}");
    const { features } = await (await api.graph()).listFeatures({});
    if (features.length === 0) progress.note("No features found.");
    return { features, requests: await asked };
  },
  view: textView(
    ({ features, requests }: Listed, style) => {
      const names = features.map(({ feature }) => ({
        key: feature?.fqn ?? "",
        text: escapeControls(readableName(feature?.fqn ?? "")),
      }));
      return withLines(names, requests, style).join("\n");
    },
    ({ features }) => ({ features: features.map(featureJson) }),
    { long: true },
  ),
});
