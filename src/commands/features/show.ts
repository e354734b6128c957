import type { FeatureProvider, FeatureStatistics, FeatureVersion, GetFeatureResponse } from "../../../gen/svc/v1/graph_pb.ts";
import { ProviderKind } from "../../../gen/svc/v1/graph_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, text } from "../../cli/flag.ts";
import { cachePolicyText } from "../../domain/cache-policy.ts";
import { driftWord } from "../../domain/drift.ts";
import { formatDuration } from "../../domain/duration.ts";
import { escapeControls, rawName, readableName } from "../../domain/name.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { validationsText } from "../../domain/validations.ts";
import { typeName } from "../../domain/value.ts";
import { visibleLines } from "../../domain/visible.ts";
import { sparkline } from "../../output/sparkline.ts";
import { type Style, textView } from "../../output/view.ts";
import { hoursLine, recentRequests } from "../../query-client/recent-requests.ts";
import { definitionFacts, placeText, sections, sourceLines, usedByLines } from "../definition-view.ts";
import { featureJson } from "./metadata-view.ts";

/** A feature, and how often it was asked for in the hours of the last day. */
interface Shown {
  readonly answer: GetFeatureResponse;
  readonly requests: readonly (number | undefined)[];
}

export default defineCommand({
  summary: "Show one feature: definition, providers, users, values",
  description:
    "Providers are in the order in which a query takes them; a value that the query gives as an input comes before all. Statistics are of what queries were answered in the last " +
    "day, on samples; the distribution needs the permission query.offline, and features tagged pii have none.",
  examples: [
    "svc features show user.email",
    { run: "svc features show 'user.fails[10m]'", does: "One window of a windowed feature" },
    "svc features show user.email --json",
  ],
  needs: ["session"],
  args: { fqn: arg("FQN of the feature", { names: "feature" }) },
  flags: { deploymentId: text("deployment id; default: the live one", { aliases: ["--deployment"], placeholder: "<deployment>" }) },
  async run(context, { deploymentId = "", fqn: given }): Promise<Shown> {
    const { api } = context;
    const fqn = rawName(given.trim());
    const asked = recentRequests(context, "sum:feature.request_count by {feature}");
    const answer = await (await api.graph()).getFeature({ fqn, deploymentId });
    return { answer, requests: (await asked).get(fqn) ?? [] };
  },
  view: textView(
    ({ answer, requests }: Shown, style) => {
      const { metadata, providers, source, statistics, versions } = answer;
      const feature = metadata?.feature;
      if (!metadata || !feature) return "";
      const scalar = feature.kind.case === "scalar" ? feature.kind.value : undefined;
      const line = hoursLine(requests, style);
      const head = [
        style.bold(escapeControls(readableName(feature.fqn))),
        ...(feature.description === "" ? [] : [visibleLines(feature.description)]),
        "",
        definitionFacts({
          Type: typeText(answer),
          Default: defaultText(answer),
          "Defined in": placeText(source, feature.span),
          Owner: feature.owner,
          Tags: feature.tags.join(", "),
          "Max staleness": feature.maxStaleness && formatDuration(durationToMs(feature.maxStaleness)),
          "Cache policy": scalar && cachePolicyText(scalar),
          "Offline TTL": scalar?.offlineTtl && formatDuration(durationToMs(scalar.offlineTtl)),
          "Offline values": scalar?.etlOfflineToOnline ? "go online as well" : "",
          Validations: scalar && validationsText(scalar.validations),
          Deprecated: feature.deprecated ? "yes" : "",
          "Feature version":
            feature.version === 0 ? "" : `${feature.version}${feature.version === feature.defaultVersion ? ", the default" : ""}`,
          Version: `${metadata.internalVersion}`,
          Deployment: answer.deploymentId,
          Page: answer.url,
        }),
      ];
      return sections(
        head.join("\n"),
        {
          Definition: sourceLines(source, style),
          Providers: providerLines(providers, style),
          "Used by": usedByLines(answer),
          Versions: versions.length > 1 ? versions.map(versionLine) : [],
          "Last day": [...(line === "" ? [] : [`Requests by hour  ${line}`]), ...statisticLines(statistics)],
        },
        style,
      );
    },
    async ({ answer }) => {
      const { messageJson } = await import("../../contract/message-json.ts");
      return messageJson(answer, { metadata: { key: "feature", value: () => answer.metadata && featureJson(answer.metadata) } });
    },
    { long: true },
  ),
});

function typeText({ metadata }: GetFeatureResponse): string {
  const kind = metadata?.feature?.kind;
  if (kind?.case === "hasOne") return `has one ${kind.value.foreignNamespace}${kind.value.optional ? ", or none" : ""}`;
  if (kind?.case === "hasMany") return `has many ${kind.value.foreignNamespace}`;
  if (kind?.case !== "scalar") return "";
  const { dtype, featureTime, nullable, primary, references } = kind.value;
  const notes = [nullable && "nullable", primary && "primary key", featureTime && "feature time", references && `refers to ${references}`];
  return [typeName(dtype), ...notes.filter((note) => note)].join(", ");
}

function defaultText({ metadata }: GetFeatureResponse): string | undefined {
  const json: unknown = metadata && featureJson(metadata).default;
  return json === undefined || json === null ? undefined : JSON.stringify(json);
}

const PROVIDERS: Readonly<Record<ProviderKind, string>> = {
  [ProviderKind.UNSPECIFIED]: "",
  [ProviderKind.ONLINE_STORE]: "the online store",
  [ProviderKind.JOIN]: "its join",
  [ProviderKind.EXPRESSION]: "its expression",
  [ProviderKind.RESOLVER]: "resolver",
  [ProviderKind.DEFAULT]: "its default",
};

function providerLines(providers: readonly FeatureProvider[], style: Style): string[] {
  if (providers.length === 0) return ["None: queries give it as an input, or its values are uploaded."];
  return providers.map(({ kind, reason, resolver, usable }, at) => {
    const name = escapeControls(`${PROVIDERS[kind]} ${resolver}`.trim());
    const text = `${usable ? `${at + 1}.` : "-."} ${name}${reason === "" ? "" : `: ${escapeControls(reason)}`}`;
    return usable ? text : style.dim(text);
  });
}

function versionLine({ ended, internalVersion, type }: FeatureVersion): string {
  return escapeControls(`${internalVersion}  ${type}${ended ? "  (ended)" : ""}`);
}

function statisticLines(statistics: FeatureStatistics | undefined): string[] {
  if (!statistics) return [];
  const { bins, count, drift, errors, medianAgeSeconds, nulls, quantiles, sampled, values } = statistics;
  const share = (part: bigint) => (count === 0n ? "0" : ((100 * Number(part)) / Number(count)).toFixed(1).replace(/\.0$/, ""));
  const age = medianAgeSeconds === undefined ? "" : `, stored ones ${formatDuration(Math.round(medianAgeSeconds) * 1000)} old (median)`;
  return [
    `${count} values, ${share(nulls)} % null, ${share(errors)} % failed${age}`,
    ...(drift === undefined ? [] : [`Drift ${number(drift)} against the week before: ${driftWord(drift)}`]),
    ...(sampled > 0n ? [`Of ${sampled} that were sampled:`] : []),
    ...quantiles.map(({ share: of, value }) => `  ${quantileName(of).padEnd(6)} ${number(value)}`),
    ...(bins.length > 1
      ? [
          `  ${sparkline(
            bins.map((bin) => Number(bin.count)),
            { ascii: true },
          )}`,
        ]
      : []),
    ...values.map(({ count: times, value }) => `  ${String(times).padStart(8)}  ${escapeControls(value)}`),
  ];
}

function quantileName(share: number): string {
  return share === 0 ? "least" : share === 1 ? "most" : `p${Math.round(share * 100)}`;
}

function number(value: number): string {
  return String(Number(value.toPrecision(4)));
}
