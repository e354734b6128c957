/**
 * A query run from the query log: its request, answer and errors, and its plan, trace and stages
 * when they were requested.
 */

import { ErrorCode, type ErrorDetail } from "../../../gen/svc/v1/error_pb.ts";
import type { QueryInput, QueryResponse } from "../../../gen/svc/v1/query_pb.ts";
import type { Value } from "../../../gen/svc/v1/value_pb.ts";
import { readableName } from "../../domain/name.ts";
import { timestampToMicros } from "../../domain/proto-time.ts";
import { fromProtoValue } from "../../domain/proto-value.ts";
import { formatTimestamp } from "../../domain/timestamp.ts";
import { toPlainJson } from "../../domain/value.ts";
import { linesOfOperation } from "../logs/reading.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { Platform } from "../wire/platform.ts";
import { isBulkRun, readQueryRun } from "../wire/query/logged-run.ts";
import { deploymentLink, facts, instant, logTable, table } from "./fragments.ts";
import { type Html, html } from "./html.ts";
import { messagePage, pageResponse } from "./layout.ts";
import { stageTable } from "./stage-page.ts";
import { traceSection } from "./trace-section.ts";

const LOG_LINES = 200;

/** The page of one query run. */
export async function queryRunPage(platform: Platform, environment: EnvironmentRecord, id: string): Promise<Response> {
  const telemetry = await platform.telemetry();
  const run = await telemetry.query(id);
  if (run?.environmentId !== environment.id) {
    return messagePage(404, "No such query run", "The link is of another server or environment, or the run is older than the log.");
  }
  const read = readQueryRun(run);
  const { request, response } = read;
  const none = isBulkRun(read) ? "Not kept: this was a bulk query, and the log holds no values of those." : "None.";
  const [logs, spans, stages] = await Promise.all([
    linesOfOperation(await platform.logs(), environment.id, id, LOG_LINES),
    telemetry.spans({ queryId: id }),
    telemetry.stages(id),
  ]);
  return pageResponse({
    title: `Query run ${id}`,
    body: html`<h1>Query run ${id}</h1>
${facts([
  ["Started", instant(run.startedAt)],
  ["Took", `${run.durationMs.toFixed(2)} ms`],
  ["Deployment", deploymentLink(environment, run.deploymentId)],
  ["Branch", run.branch],
  [
    "Planner options",
    Object.entries(request.plannerOptions)
      .map(([name, value]) => `${name}=${value}`)
      .join(", "),
  ],
  ["Query name", request.queryName && `${request.queryName}${request.queryNameVersion ? ` ${request.queryNameVersion}` : ""}`],
  ["Correlation id", request.correlationId],
  ["Tags", request.tags.join(", ")],
  ["As of", request.now && formatTimestamp(Number(timestampToMicros(request.now)) / 1000)],
  ["Refused", run.error && html`<span class="bad">${run.error}</span>`],
])}
<h2>Inputs</h2>
${table(
  ["Feature", "Value"],
  request.inputs.map((input) => [html`<code>${readableName(input.feature)}</code>`, inputValue(input)]),
  none,
)}
<h2>Outputs</h2>
<p class="dim">Asked for: ${(request.outputs.length > 0 ? request.outputs : (response?.inferredOutputs ?? [])).map(readableName).join(", ") || "the namespace of the inputs"}</p>
${response && outputs(response, none)}
${response && errors(response.errors)}
<h2>Plan</h2>
${response?.explainOutput ? html`<div class="scroll"><pre>${response.explainOutput}</pre></div>` : html`<p class="dim">The plan is kept when a query asks for it: <code>svc query --explain</code>.</p>`}
<h2 id="trace">Trace</h2>
${traceSection(spans)}
<h2 id="stages">Stages</h2>
${stageTable(environment, stages)}
<h2>Log</h2>
${logTable(logs)}`,
  });
}

function outputs({ data }: QueryResponse, none: string): Html {
  return table(
    ["Name", "Hit?", "Value", "Observed", "Resolver"],
    data.map(({ field, value, error, ts, meta }) => [
      html`<code>${readableName(field)}</code>`,
      meta?.cacheHit ? "\u2713" : "",
      error ? html`<span class="bad">${error.message}</span>` : valueText(value),
      ts ? instant(Number(timestampToMicros(ts)) / 1000) : "",
      meta?.chosenResolverFqn ?? "",
    ]),
    none,
  );
}

function errors(list: readonly ErrorDetail[]): Html {
  if (list.length === 0) return html``;
  return html`<h2>Errors</h2>
${table(
  ["Code", "Feature", "Resolver", "Message"],
  list.map(({ code, feature, resolver, message, exception }) => [
    html`<span class="bad">${ErrorCode[code]}</span>`,
    readableName(feature),
    resolver,
    html`${message}${exception?.stacktrace ? html`<pre>${exception.stacktrace}</pre>` : ""}`,
  ]),
  "None.",
)}`;
}

function inputValue({ value }: QueryInput): Html {
  return value.case === "typed" ? valueText(value.value) : html`<code>${value.value ?? ""}</code>`;
}

function valueText(value: Value | undefined): Html {
  const text = value ? JSON.stringify(toPlainJson(fromProtoValue(value))) : "null";
  return html`<code>${text.length > 2000 ? `${text.slice(0, 2000)}...` : text}</code>`;
}
