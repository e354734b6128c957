import type { ResolverJson } from "../../../../gen/svc/v1/graph_pb.ts";
import { lineageId } from "../../../domain/lineage.ts";
import { escapeControls, readableName } from "../../../domain/name.ts";
import { visibleLines } from "../../../domain/visible.ts";
import { useAnswer } from "../../api/load.ts";
import { useCommand } from "../../app/command.ts";
import { href, scope } from "../../app/place.ts";
import { Badge } from "../../parts/badge.tsx";
import { Code } from "../../parts/code.tsx";
import { Duration } from "../../parts/duration.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Facts } from "../../parts/facts.tsx";
import { Loading } from "../../parts/loading.tsx";
import { MetricChart } from "../../parts/metric-chart.tsx";
import { Page } from "../../parts/page.tsx";
import { Range } from "../../parts/range.tsx";
import type { PageProps } from "../../routes.ts";
import { cachedFor, durationMs } from "./feature-text.ts";
import { GroupedErrors } from "./grouped-errors.tsx";
import { resolverMetric } from "./metric-expressions.ts";
import { Neighbours } from "./neighbours.tsx";
import { ResolverLatency } from "./resolver-latency.tsx";
import { ResolverLines } from "./resolver-lines.tsx";
import { inputPaths, resolverKind, resultText, translationText } from "./resolver-text.ts";
import { ResolverVersions } from "./resolver-versions.tsx";
import { SinkResolver } from "./sink-resolver.tsx";
import { SourceText } from "./source-text.tsx";
import { StreamResolver } from "./stream-resolver.tsx";

/** One resolver: what it computes of what, how long that takes, and its source. */
export default function Resolver({ place }: PageProps<"resolver">) {
  const command = useCommand();
  const { fqn } = place.params;
  const answer = useAnswer("GraphService/ListResolvers", {}, scope.value);
  const resolver = answer.data?.resolvers?.find((one) => one.fqn === fqn);
  const sink = answer.data?.sinkResolvers?.find((one) => one.fqn === fqn);
  const stream = answer.data?.streamResolvers?.find((one) => one.fqn === fqn);
  return (
    <Page
      title={fqn}
      command={stream ? command("streams", "get", fqn) : command("resolvers", "show", fqn)}
      actions={resolver && <Actions resolver={resolver} />}
    >
      <Loading of={answer} lines={10}>
        {({ deploymentId = "" }) =>
          resolver ? (
            <Content resolver={resolver} deployment={deploymentId} />
          ) : stream ? (
            <StreamResolver resolver={stream} deployment={deploymentId} />
          ) : sink ? (
            <SinkResolver resolver={sink} deployment={deploymentId} />
          ) : (
            <Empty command={command("resolvers")}>The deployment has no resolver of this name. Those that it has:</Empty>
          )
        }
      </Loading>
    </Page>
  );
}

/** Runs it as a query does: with its inputs, for its outputs. */
function Actions({ resolver }: { readonly resolver: ResolverJson }) {
  const { fqn = "", outputs = [] } = resolver;
  const query = new URLSearchParams([
    ...inputPaths(resolver).map((path) => ["in", `${path}=`]),
    ...outputs.map((output) => ["out", output]),
    ["with", "explain"],
  ]);
  return (
    <>
      <a class="button" href={href("query", {}, { query })}>
        Run with inputs
      </a>
      <a class="button" href={href("graph", {}, { query: new URLSearchParams({ on: lineageId("resolver", fqn) }) })}>
        Lineage
      </a>
    </>
  );
}

function Content({ resolver, deployment }: { readonly resolver: ResolverJson; readonly deployment: string }) {
  const {
    description = "",
    environments = [],
    fqn = "",
    maxStaleness,
    owner = "",
    partitionedBy = [],
    resourceHint,
    schedule = "",
    span,
    sql,
    tags = [],
    timeout,
    uniqueOn = [],
    venv = "",
    whenText = "",
  } = resolver;
  const { branch } = scope.value;
  const metric = (fn: Parameters<typeof resolverMetric>[0], name: Parameters<typeof resolverMetric>[1]) =>
    resolverMetric(fn, name, fqn, branch);
  return (
    <>
      {description !== "" && <p class="description">{visibleLines(description)}</p>}
      <Facts
        facts={[
          ["Kind", resolverKind(resolver)],
          ["Gives", escapeControls(resultText(resolver))],
          ["Computed", escapeControls(translationText(resolver))],
          ["Unique on", uniqueOn.length > 0 && escapeControls(uniqueOn.map(readableName).join(", "))],
          ["Partitioned by", partitionedBy.length > 0 && escapeControls(partitionedBy.map(readableName).join(", "))],
          ["Calls", resourceHint === "RESOURCE_HINT_IO" && "beside each other, on threads"],
          ["Venv", venv !== "" && <Badge text={venv} />],
          ["Source", sql?.source && escapeControls(sql.source)],
          ["Tags", tags.length > 0 && tags.map((tag) => <Badge key={tag} text={tag} />)],
          ["Only in", environments.length > 0 && environments.map((one) => <Badge key={one} text={one} />)],
          ["When", whenText !== "" && <code>{escapeControls(whenText)}</code>],
          ["Schedule", schedule !== "" && <code>{escapeControls(schedule)}</code>],
          ["Max staleness", maxStaleness !== undefined && escapeControls(cachedFor({ maxStaleness }))],
          ["Timeout", timeout !== undefined && <Duration ms={durationMs(timeout)} />],
          ["Owner", owner !== "" && escapeControls(owner)],
          ["Defined", span?.file && <code>{`${escapeControls(span.file)}:${span.line}`}</code>],
        ]}
      />
      <Neighbours id={lineageId("resolver", fqn)} needs={["Inputs", "None: it takes nothing."]} neededBy={["Outputs", "None."]} />
      <h2>Over time</h2>
      <Range />
      <div class="charts">
        <MetricChart
          label="Latency"
          expressions={[
            ["p50", metric("p50", "resolver.latency")],
            ["p95", metric("p95", "resolver.latency")],
            ["p99", metric("p99", "resolver.latency")],
          ]}
        />
        <MetricChart
          label="Calls"
          expressions={[
            ["calls", metric("sum", "resolver.count")],
            ["failed", metric("sum", "resolver.errors")],
          ]}
        />
      </div>
      <ResolverLatency fqn={fqn} />
      <h2>Errors</h2>
      <GroupedErrors of="resolver" fqn={fqn} />
      <h2>Lines</h2>
      <ResolverLines fqn={fqn} />
      <h2>Source</h2>
      {span?.file && deployment !== "" ? (
        <SourceText deployment={deployment} span={span} />
      ) : (
        sql?.body && <Code text={sql.body} file={fqn} firstLine={sql.bodyLine ?? 1} />
      )}
      <h2>Versions</h2>
      <ResolverVersions fqn={fqn} />
    </>
  );
}
