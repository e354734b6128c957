import type { FeatureMetadataJson, GetFeatureResponseJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { cachePolicyText } from "../../../domain/cache-policy.ts";
import { formatDuration } from "../../../domain/duration.ts";
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
import { FeatureLink } from "./feature-link.tsx";
import {
  durationMs,
  featureKind,
  featureType,
  featureVersionText,
  primaryKeyOf,
  servedText,
  storedText,
  validationsText,
  versionsOf,
  versionText,
  windowsOf,
} from "./feature-text.ts";
import { FeatureValues } from "./feature-values.tsx";
import { GroupedErrors } from "./grouped-errors.tsx";
import { featureMetric } from "./metric-expressions.ts";
import { Neighbours } from "./neighbours.tsx";
import { Providers } from "./providers.tsx";
import { SourceText } from "./source-text.tsx";

/** One feature: what it is, where its values come from, what needs it, and how they lie. */
export default function Feature({ place }: PageProps<"feature">) {
  const command = useCommand();
  const { fqn } = place.params;
  const answer = useAnswer("GraphService/GetFeature", { fqn }, scope.value);
  const all = useAnswer("GraphService/ListFeatures", {}, scope.value).data?.features ?? [];
  const isUnknown = answer.error?.code === "not_found";
  return (
    <Page
      title={readableName(fqn)}
      command={command("features", "show", readableName(fqn))}
      actions={answer.data && <Actions fqn={fqn} primaryKey={primaryKeyOf(all, answer.data.metadata?.feature?.namespace)} />}
    >
      {isUnknown ? (
        <Empty command={command("features", "list")}>The deployment defines no feature of this name. Those that it defines:</Empty>
      ) : (
        <Loading of={answer} lines={10}>
          {(data) => <Content answer={data} all={all} />}
        </Loading>
      )}
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
  readonly answer: GetFeatureResponseJson;
  /** The features of the deployment. */
  readonly all: readonly FeatureMetadataJson[];
}

function Content({ all, answer }: ContentParts) {
  const { deploymentId = "", metadata = {}, providers = [], statistics, versions = [] } = answer;
  const { feature = {}, internalVersion, resolvers = [] } = metadata;
  const { deprecated, description = "", fqn = "", hasMany, hasOne, owner = "", scalar, span, tags = [] } = feature;
  const { branch } = scope.value;
  const [windows, numbered] = [windowsOf(all, fqn), versionsOf(all, feature)];
  return (
    <>
      {description !== "" && <p class="description">{visibleLines(description)}</p>}
      <Facts
        facts={[
          ["Kind", featureKind(feature)],
          ["Type", escapeControls(featureType(feature))],
          ["Windows", windows.length > 1 && <Siblings all={windows} shown={fqn} />],
          ["Feature version", featureVersionText(feature)],
          ["Feature versions", numbered.length > 1 && <Siblings all={numbered} shown={fqn} />],
          ["Deprecated", deprecated && <Badge text="deprecated" tone="warn" />],
          ["Served from the store", servedText(feature)],
          ["Stored", scalar && storedText(scalar)],
          ["Cache policy", scalar && asCode(cachePolicyText(scalar))],
          ["Offline TTL", scalar?.offlineTtl && formatDuration(durationMs(scalar.offlineTtl))],
          ["Offline values", scalar?.etlOfflineToOnline && "go online as well"],
          ["Kept", scalar?.materialization && <a href={href("aggregates", {}, { deployment: "" })}>in tiles</a>],
          ["Validations", scalar && asCode(validationsText(scalar.validations))],
          ["Default", scalar?.defaultValue && <Value value={plainOf(scalar.defaultValue)} />],
          ["Refers to", scalar?.references && <FeatureLink fqn={scalar.references} />],
          ["Joined by", (hasOne ?? hasMany)?.join?.map(({ local = "", foreign = "" }) => `${local} = ${foreign}`).join(", ")],
          ["Resolvers", resolvers.length > 0 && resolvers.map((resolver) => <ResolverLink key={resolver} fqn={resolver} />)],
          ["Owner", owner !== "" && escapeControls(owner)],
          ["Tags", tags.length > 0 && tags.map((tag) => <Badge key={tag} text={tag} />)],
          ["Version", internalVersion !== undefined && internalVersion > 1 && String(internalVersion)],
          ["Versions", versions.length > 1 && versions.map(versionText).join(", ")],
          ["Defined", span?.file && <code>{`${escapeControls(span.file)}:${span.line}`}</code>],
        ]}
      />
      <h2>Where its value comes from</h2>
      <Providers all={providers} />
      <Neighbours
        id={lineageId("feature", fqn)}
        needs={["Needs", "Nothing: it comes with a query, or from its default."]}
        neededBy={["Needed by", "Nothing in this deployment."]}
      />
      <section aria-label="Values of the last day">
        <h2>Values of the last day</h2>
        <FeatureValues isPersonal={tags.includes("pii")} {...(statistics && { statistics })} />
      </section>
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
        <MetricChart
          label="Drift from the week before, by hour"
          expressions={[["index", featureMetric("avg", "feature.drift", fqn, "")]]}
        />
      </div>
      <section aria-label="Errors">
        <h2>Errors</h2>
        <GroupedErrors of="feature" fqn={fqn} />
      </section>
      {span?.file && deploymentId !== "" && (
        <>
          <h2>Definition</h2>
          <SourceText deployment={deploymentId} span={span} />
        </>
      )}
    </>
  );
}

/** A text as code; nothing of an empty one. */
function asCode(text: string) {
  return text !== "" && <code>{escapeControls(text)}</code>;
}

/** Windows or versions of one feature, this one without a link. */
function Siblings({ all, shown }: { readonly all: readonly string[]; readonly shown: string }) {
  return (
    <>
      {all.map((fqn) => (
        <span key={fqn}>
          {fqn === shown ? <strong class="name">{escapeControls(readableName(fqn))}</strong> : <FeatureLink fqn={fqn} />}{" "}
        </span>
      ))}
    </>
  );
}
