/** The stages of a query run: a table on the run's page, and a page with the rows of each. */

import { addressOf } from "../../domain/addresses.ts";
import { readableName } from "../../domain/name.ts";
import { toPlainJson } from "../../domain/value.ts";
import { readStage } from "../query-log/stages.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { StageRecord } from "../stores/telemetry/store.ts";
import type { Platform } from "../wire/platform.ts";
import { facts, table } from "./fragments.ts";
import { type Html, html } from "./html.ts";
import { messagePage, pageResponse } from "./layout.ts";

const ROWS_PER_PAGE = 200;

/** The stages of a run as a table of links; without stages, how to get some. */
export function stageTable(environment: EnvironmentRecord, stages: readonly StageRecord[]): Html {
  if (stages.length === 0)
    return html`<p class="dim">What every step gave is kept when a query asks for it: <code>svc query --store-plan-stages</code>.</p>`;
  return table(
    ["Stage", "Step", "Provider", "Rows of", "#Rows", "Columns"],
    stages.map((one) => [
      one.omitted ? `${one.stage}` : html`<a href="${stageAddress(environment, one)}">${one.stage}</a>`,
      one.kind,
      readableName(one.provider),
      one.path,
      one.rows,
      one.omitted ? html`<span class="warn">not kept: ${one.omitted}</span>` : one.columns.map(readableName).join(", "),
    ]),
    "None.",
  );
}

/** The page of one stage, from row `from` on. */
export async function stagePage(
  platform: Platform,
  environment: EnvironmentRecord,
  queryId: string,
  number: number,
  from: number,
): Promise<Response> {
  const stages = await (await platform.telemetry()).stages(queryId);
  const stage = stages.find((one) => one.stage === number && one.environmentId === environment.id);
  if (!stage) return messagePage(404, "No such stage", "The link is of another server or environment, or the run is older than the log.");
  const { rows, types } = await readStage(platform.objects, stage, from, from + ROWS_PER_PAGE);
  const next = from + ROWS_PER_PAGE;
  return pageResponse({
    title: `Stage ${number} of query run ${queryId}`,
    body: html`<h1>Stage ${number}</h1>
${facts([
  ["Query run", html`<a href="${addressOf("queryRun", { id: queryId }, { environment: environment.id })}"><code>${queryId}</code></a>`],
  ["Step", stage.kind],
  ["Provider", readableName(stage.provider)],
  ["Rows of", stage.path],
  ["Rows", stage.rows],
  ["Not kept", stage.omitted],
])}
<h2>Rows</h2>
${table(
  ["#Row", ...stage.columns.map(readableName)],
  rows.map(({ row, values, errors }) => [
    row,
    ...values.map((value, at) => {
      const error = errors[stage.columns[at] ?? ""];
      return error === undefined
        ? html`<code>${JSON.stringify(toPlainJson(value, types[at]))}</code>`
        : html`<span class="bad">${error}</span>`;
    }),
  ]),
  "None.",
)}
${stage.omitted === "" && next < stage.rows && html`<p><a href="${stageAddress(environment, stage, next)}">Rows from ${next}</a></p>`}`,
  });
}

function stageAddress(environment: EnvironmentRecord, { queryId, stage }: StageRecord, from?: number): string {
  const query = from === undefined ? undefined : new URLSearchParams({ from: `${from}` });
  return addressOf("queryRunStage", { id: queryId, stage: `${stage}` }, { environment: environment.id, query });
}
