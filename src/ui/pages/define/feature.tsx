import type { FeatureMetadataJson, GetGraphResponseJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { lineageId } from "../../../domain/lineage.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { href, scope } from "../../app/place.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { MetricChart } from "../../parts/metric-chart.tsx";
import { Page } from "../../parts/page.tsx";
import { plainOf } from "../../parts/proto-value.ts";
import { Range } from "../../parts/range.tsx";
import { Value } from "../../parts/values.tsx";
import type { PageProps } from "../../routes.ts";
import { ResolverLink } from "../run/answer.tsx";
import { cachedFor, featureKind, featureType } from "./feature-text.ts";
import { featureMetric } from "./metric-expressions.ts";
import { NodeList } from "./node-links.tsx";
import { SourceText } from "./source-text.tsx";
import { useGraph, useLineage, useNeighbours } from "./use-lineage.ts";

/** One feature: what it is, where it comes from, what needs it, and how often it is asked for. */
export default function Feature({ place }: PageProps<"feature">) {
  const command = useCommand();
  const { fqn } = place.params;
  const features = useAnswer("GraphService/ListFeatures", {}, scope.value);
  const graph = useGraph();
  const metadata = features.data?.features?.find(({ feature }) => feature?.fqn === fqn);
  const key = graph.data?.graph?.featureSets?.find(({ namespace }) => namespace === metadata?.feature?.namespace)?.primaryKey ?? "";
  return (
    <Page
      title={readableName(fqn)}
      command={command("features", "show", readableName(fqn))}
      actions={metadata && <Actions fqn={fqn} primaryKey={key} />}
    >
      <Loading of={features} lines={10}>
        {({ deploymentId = "" }) =>
          metadata ? (
            <Content metadata={metadata} deployment={deploymentId} graph={graph.data} />
          ) : (
            <Empty command={command("features", "list")}>The deployment defines no feature of this name. Those that it defines:</Empty>
          )
        }
      </Loading>
    </Page>
  );
}

function Actions({ fqn, primaryKey }: { readonly fqn: string; readonly primaryKey: string }) {
  const query = new URLSearchParams([
    ["in", `${primaryKey}=`],
    ["out", readableName(fqn)],
  ]);
  return (
    <>
      <a class="button" href={href("query", {}, { query })}>
        Ask for it
      </a>
      <a class="button" href={href("graph", {}, { query: new URLSearchParams({ on: lineageId("feature", fqn) }) })}>
        Lineage
      </a>
    </>
  );
}

interface ContentParts {
  readonly metadata: FeatureMetadataJson;
  readonly deployment: string;
  readonly graph: GetGraphResponseJson | undefined;
}

function Content({ metadata: { feature = {}, internalVersion, resolvers = [] }, deployment, graph }: ContentParts) {
  const { deprecated, description = "", fqn = "", hasMany, hasOne, owner = "", scalar, span, tags = [] } = feature;
  const { branch } = scope.value;
  const lineage = useLineage(graph);
  const { needs, neededBy } = useNeighbours(lineage, lineageId("feature", fqn));
  return (
    <>
      {description !== "" && <p class="description">{visibleLines(description)}</p>}
      <Facts
        facts={[
          ["Kind", featureKind(feature)],
          ["Type", escapeControls(featureType(feature))],
          ["Deprecated", deprecated && <Badge text="deprecated" tone="warn" />],
          ["Served from the store", cachedFor(feature) === "" ? "never" : `for ${cachedFor(feature)}`],
          ["Stored", scalar && storedText(scalar)],
          ["Default", scalar?.defaultValue && <Value value={plainOf(scalar.defaultValue)} />],
          ["Refers to", scalar?.references && <FeatureLink fqn={scalar.references} />],
          ["Joined by", (hasOne ?? hasMany)?.join?.map(({ local = "", foreign = "" }) => `${local} = ${foreign}`).join(", ")],
          ["Resolvers", resolvers.length > 0 && resolvers.map((resolver) => <ResolverLink key={resolver} fqn={resolver} />)],
          ["Owner", owner !== "" && escapeControls(owner)],
          ["Tags", tags.length > 0 && tags.map((tag) => <Badge key={tag} text={tag} />)],
          ["Version", internalVersion !== undefined && internalVersion > 1 && String(internalVersion)],
          ["Defined", span?.file && <code>{`${escapeControls(span.file)}:${span.line}`}</code>],
        ]}
      />
      <div class="columns">
        <section aria-label="Needs">
          <h2>Needs</h2>
          <NodeList nodes={needs} none="Nothing: it comes with a query, or from its default." />
        </section>
        <section aria-label="Needed by">
          <h2>Needed by</h2>
          <NodeList nodes={neededBy} none="Nothing in this deployment." />
        </section>
      </div>
      <h2>Over time</h2>
      <Range />
      <div class="charts">
        <MetricChart
          label="Values"
          expressions={[
            ["asked for", featureMetric("sum", "feature.request_count", fqn, branch)],
            ["from the store", featureMetric("sum", "feature.hit", fqn, branch)],
            ["null", featureMetric("sum", "feature.null", fqn, branch)],
            ["failed", featureMetric("sum", "feature.errors", fqn, branch)],
          ]}
        />
        <MetricChart
          label="Age of stored values"
          expressions={[
            ["p50", featureMetric("p50", "feature.age", fqn, branch)],
            ["p99", featureMetric("p99", "feature.age", fqn, branch)],
          ]}
        />
      </div>
      {span?.file && deployment !== "" && (
        <>
          <h2>Definition</h2>
          <SourceText deployment={deployment} span={span} />
        </>
      )}
    </>
  );
}

function storedText({
  storeOnline = true,
  storeOffline = true,
}: {
  readonly storeOnline?: boolean;
  readonly storeOffline?: boolean;
}): string {
  if (storeOnline && storeOffline) return "online and offline";
  return storeOnline ? "online only" : storeOffline ? "offline only" : "nowhere";
}

function FeatureLink({ fqn }: { readonly fqn: string }) {
  return (
    <a class="name" href={href("feature", { fqn })}>
      {escapeControls(readableName(fqn))}
    </a>
  );
}
