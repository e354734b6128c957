/** Pieces of HTML that several pages share. */

import { DeploymentStatus } from "../../../gen/svc/v1/deployment_pb.ts";
import { type Diagnostic, Severity } from "../../../gen/svc/v1/error_pb.ts";
import { formatTimestamp } from "../../domain/timestamp.ts";
import type { StoredRecord } from "../stores/logs/store.ts";
import type { DeploymentRecord } from "../stores/metadata/deployments.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { QueryLogSummary } from "../stores/telemetry/store.ts";
import { type Html, html, type Part } from "./html.ts";

/**
 * A table, or the sentence `empty` when it has no rows. A header that begins with `#` heads a
 * column of numbers.
 */
export function table(headers: readonly string[], rows: readonly (readonly Part[])[], empty: string): Html {
  if (rows.length === 0) return html`<p class="dim">${empty}</p>`;
  const isNumber = headers.map((header) => header.startsWith("#"));
  return html`<div class="scroll"><table>
<thead><tr>${headers.map((header) => html`<th>${header.replace(/^#/, "")}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((cell, index) => (isNumber[index] ? html`<td class="num">${cell}</td>` : html`<td>${cell}</td>`))}</tr>\n`)}</tbody>
</table></div>`;
}

/** A list of names and values; those without a value are left out. */
export function facts(entries: readonly (readonly [string, Part])[]): Html {
  const shown = entries.filter(([, value]) => value !== "" && value !== undefined && value !== null && value !== false);
  return html`<dl>${shown.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** An instant. */
export function instant(ms: number): Html {
  return html`<time datetime="${formatTimestamp(ms)}">${formatTimestamp(Math.floor(ms / 1000) * 1000)}</time>`;
}

/** A deployment's state with its colour. */
export function status(deployment: Pick<DeploymentRecord, "status" | "promoted">): Html {
  const isWaiting = deployment.status === DeploymentStatus.WAITING;
  const name = isWaiting ? "waiting for approval" : DeploymentStatus[deployment.status].toLowerCase();
  const mark = isWaiting
    ? "warn"
    : deployment.status === DeploymentStatus.LIVE
      ? "good"
      : deployment.status === DeploymentStatus.FAILED
        ? "bad"
        : "dim";
  return html`<span class="${mark}">${name}</span>${deployment.status === DeploymentStatus.LIVE && !deployment.promoted ? html` <span class="dim">(not promoted)</span>` : ""}`;
}

/** A link to a deployment's page. */
export function deploymentLink(environment: Pick<EnvironmentRecord, "id">, id: string): Html {
  return html`<a href="/environments/${encodeURIComponent(environment.id)}/deployments/${encodeURIComponent(id)}"><code>${id}</code></a>`;
}

/** Deployments as a table. */
export function deploymentTable(environment: EnvironmentRecord, deployments: readonly DeploymentRecord[]): Html {
  return table(
    ["Deployment", "Status", "Branch", "Created", "Description"],
    deployments.map((deployment) => [
      deploymentLink(environment, deployment.id),
      status(deployment),
      deployment.branch === "" ? html`<span class="dim">environment</span>` : deployment.branch,
      instant(deployment.createdAt),
      deployment.description.split("\n", 1)[0],
    ]),
    "Nothing was deployed yet. Run `svc apply` in a project.",
  );
}

/** Query runs as a table. */
export function queryTable(environment: EnvironmentRecord, queries: readonly QueryLogSummary[]): Html {
  return table(
    ["Query run", "Name", "Branch", "Started", "#ms", "#Errors"],
    queries.map((query) => [
      html`<a href="/environments/${encodeURIComponent(environment.id)}/query-runs/${encodeURIComponent(query.queryId)}"><code>${query.queryId}</code></a>`,
      query.queryName,
      query.branch,
      instant(query.startedAt),
      query.durationMs.toFixed(2),
      query.errorCount > 0 ? html`<span class="bad">${query.errorCount}</span>` : "0",
    ]),
    "No query ran yet. Run `svc query`.",
  );
}

/** Findings as a list. */
export function diagnosticTable(diagnostics: readonly Diagnostic[]): Html {
  return table(
    ["Rule", "Finding", "Place"],
    diagnostics.map(({ code, severity, message, span, hint }) => [
      severity === Severity.WARNING ? html`<span class="warn">Warning[${code}]</span>` : html`<span class="bad">Error[${code}]</span>`,
      html`${message}${hint ? html`<br><span class="dim">${hint}</span>` : ""}`,
      span ? html`<code>${span.file}:${span.line}:${span.column}</code>` : "",
    ]),
    "None.",
  );
}

/** Log lines. */
export function logTable(lines: readonly StoredRecord[]): Html {
  const mark = (level: StoredRecord["level"]) => (level === "error" || level === "fatal" ? "bad" : level === "warning" ? "warn" : "dim");
  return table(
    ["Time", "Level", "From", "Text"],
    lines.map(({ at, level, logger, resolver, message }) => [
      instant(at / 1_000),
      html`<span class="${mark(level)}">${level}</span>`,
      resolver || logger,
      html`<code>${message}</code>`,
    ]),
    "No lines.",
  );
}
