/** A deployment: its state, what it defines, what it changed, its findings and its log. */

import { fromBinary } from "@bufbuild/protobuf";
import { ChangeKind, type DeploymentDiff } from "../../../gen/svc/v1/deployment_pb.ts";
import { type Feature, type Graph, GraphSchema, type Resolver } from "../../../gen/svc/v1/graph_pb.ts";
import { formatDuration } from "../../domain/duration.ts";
import { diffGraphs, featuresOf } from "../../domain/graph-diff.ts";
import { readableName } from "../../domain/name.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { typeName } from "../../domain/value.ts";
import { linesOfDeployment } from "../logs/reading.ts";
import type { DeploymentRecord, DeploymentStore } from "../stores/metadata/deployments.ts";
import type { GraphStore } from "../stores/metadata/graphs.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { VersionStore } from "../stores/metadata/versions.ts";
import type { Platform } from "../wire/platform.ts";
import { deploymentLink, diagnosticTable, facts, instant, logTable, queryTable, status, table } from "./fragments.ts";
import { externalLink, type Html, html } from "./html.ts";
import { messagePage, pageResponse } from "./layout.ts";

const LOG_LINES = 200;
const QUERIES = 20;

/** The page of one deployment. */
export async function deploymentPage(platform: Platform, environment: EnvironmentRecord, id: string): Promise<Response> {
  const { metadata } = platform;
  const deployment = await metadata.deployment(id);
  if (deployment?.environmentId !== environment.id)
    return messagePage(404, "No such deployment", "The link is of another server or environment.");
  const [telemetry, store] = await Promise.all([platform.telemetry(), platform.logs()]);
  const [graph, previous, logs, queries] = await Promise.all([
    graphOf(metadata, id),
    previousOf(metadata, deployment),
    linesOfDeployment(store, environment.id, id, LOG_LINES),
    telemetry.queries({ environmentId: environment.id, deploymentId: id, limit: QUERIES }),
  ]);
  return pageResponse({
    title: `Deployment ${id}`,
    body: html`<h1>Deployment ${id}</h1>
${facts([
  ["Status", status(deployment)],
  ["Error", deployment.error && html`<span class="bad">${deployment.error}</span>`],
  ["Branch", deployment.branch],
  ["Environment", environment.name],
  ["Project", deployment.projectName],
  ["Created", instant(deployment.createdAt)],
  ["Changed", instant(deployment.updatedAt)],
  ["Python", graph?.pythonVersion || deployment.runtime],
  ["Tags", deployment.tags.join(", ")],
  ["CI job", deployment.ciJobUrl && externalLink(deployment.ciJobUrl)],
  ["Repository", deployment.repositoryUrl && externalLink(deployment.repositoryUrl)],
  ...Object.entries(deployment.metadata).map(([key, value]) => [key, value] as const),
  ["Source", html`<code>${deployment.sourceSha256}</code>`],
])}
${deployment.description && html`<h2>Description</h2><div class="scroll"><pre>${deployment.description}</pre></div>`}
<h2>Findings</h2>
${diagnosticTable([...deployment.diagnostics, ...(deployment.diagnostics.length === 0 ? (graph?.diagnostics ?? []) : [])])}
${graph && (await changes(metadata, environment, graph, previous))}
${graph && definitions(graph)}
<h2>Log</h2>
${logTable(logs)}
<h2>Latest queries</h2>
${queryTable(environment, queries)}`,
  });
}

async function graphOf(metadata: GraphStore, id: string): Promise<Graph | undefined> {
  const bytes = await metadata.graph(id);
  return bytes && fromBinary(GraphSchema, bytes);
}

/** The deployment of the same scope that was promoted before this one. */
async function previousOf(
  metadata: DeploymentStore,
  { id, environmentId, branch }: DeploymentRecord,
): Promise<DeploymentRecord | undefined> {
  const before = await metadata.deployments({ environmentId, branch, before: id, limit: 50 });
  return before.find(({ promoted }) => promoted);
}

async function changes(
  metadata: DeploymentStore & GraphStore & VersionStore,
  environment: EnvironmentRecord,
  graph: Graph,
  previous: DeploymentRecord | undefined,
): Promise<Html> {
  if (!previous) return html`<h2>Changes</h2><p class="dim">This is the first deployment of its scope.</p>`;
  const before = await graphOf(metadata, previous.id);
  const diff = diffGraphs(before, graph, {
    before: await metadata.resolverVersions(environment.id, before?.resolvers ?? []),
    after: await metadata.resolverVersions(environment.id, graph.resolvers),
  });
  return html`<h2>Changes</h2>
<p class="dim">Against ${deploymentLink(environment, previous.id)}.</p>
${changeTable(diff)}`;
}

function changeTable({ resolvers, features }: DeploymentDiff): Html {
  const kind = (change: ChangeKind) => {
    const mark = change === ChangeKind.ADDED ? "good" : change === ChangeKind.REMOVED ? "bad" : "warn";
    return html`<span class="${mark}">${ChangeKind[change].toLowerCase()}</span>`;
  };
  return table(
    ["Change", "What", "Name", "Details"],
    [
      ...resolvers.map(({ fqn, change, oldVersion, newVersion }) => [
        kind(change),
        "resolver",
        html`<code>${fqn}</code>`,
        `version ${oldVersion || "-"} -> ${newVersion || "-"}`,
      ]),
      ...features.map(({ fqn, change, details }) => [kind(change), "feature", html`<code>${readableName(fqn)}</code>`, details.join("; ")]),
    ],
    "No resolver and no feature changed.",
  );
}

function definitions(graph: Graph): Html {
  return html`<h2>Resolvers</h2>
${table(
  ["Resolver", "Kind", "Outputs", "Place", "Owner"],
  graph.resolvers.map((resolver) => [
    html`<code>${resolver.fqn}</code>`,
    resolver.body.case === "sql" ? html`SQL on ${resolver.body.value.source}` : "Python",
    resolver.outputs.map(readableName).join(", "),
    sourceLine(resolver),
    resolver.owner,
  ]),
  "None.",
)}
<h2>Features</h2>
${table(
  ["Feature", "Type", "Cached for", "Owner", "Description"],
  featuresOf(graph).map((feature) => [
    html`<code>${readableName(feature.fqn)}</code>`,
    featureType(feature),
    staleness(feature),
    feature.owner,
    feature.description,
  ]),
  "None.",
)}`;
}

function sourceLine({ span }: Resolver): Html | string {
  return span ? html`<code>${span.file}:${span.line}</code>` : "";
}

function featureType({ kind }: Feature): string {
  if (kind.case === "scalar") return `${typeName(kind.value.dtype)}${kind.value.nullable ? " | None" : ""}`;
  if (kind.case === undefined) return "";
  return kind.case === "hasMany" ? `DataFrame[${kind.value.foreignNamespace}]` : kind.value.foreignNamespace;
}

function staleness({ maxStaleness }: Feature): string {
  const ms = maxStaleness ? durationToMs(maxStaleness) : 0;
  return ms === 0 ? "" : formatDuration(ms);
}
