/**
 * The overview: environments with their live deployments, latest deployments and latest queries.
 */

import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { Platform } from "../wire/platform.ts";
import { deploymentLink, deploymentTable, queryTable, table } from "./fragments.ts";
import { type Html, html } from "./html.ts";
import { pageResponse } from "./layout.ts";

const ROWS = 20;

/** The page of environments: all of a team, or one. */
export async function overviewPage(platform: Platform, title: string, environments: readonly EnvironmentRecord[]): Promise<Response> {
  const sections = await Promise.all(environments.map((environment) => section(platform, environment)));
  return pageResponse({ title, body: html`${sections}` });
}

async function section(platform: Platform, environment: EnvironmentRecord): Promise<Html> {
  const { metadata } = platform;
  const telemetry = await platform.telemetry();
  const [pointers, deployments, queries] = await Promise.all([
    metadata.livePointers(),
    metadata.deployments({ environmentId: environment.id, limit: ROWS }),
    telemetry.queries({ environmentId: environment.id, limit: ROWS }),
  ]);
  const live = pointers.filter(({ environmentId }) => environmentId === environment.id);
  const { running } = await platform.deployments();
  return html`<h1>Environment ${environment.name}</h1>
<p class="dim">Project ${environment.projectName}, <code>${environment.id}</code></p>
<h2>Live</h2>
${table(
  ["Scope", "Deployment", "Workers"],
  live.map(({ branch, deploymentId }) => {
    const health = running.peek(deploymentId)?.pool.health();
    return [
      branch === "" ? "environment" : html`branch ${branch}`,
      deploymentLink(environment, deploymentId),
      health === undefined
        ? html`<span class="dim">start with the next query</span>`
        : health.degraded
          ? html`<span class="bad">degraded: ${health.lastFailure ?? ""}</span>`
          : `${health.workers} running`,
    ];
  }),
  "Nothing is deployed yet. Run `svc apply` in a project.",
)}
<h2>Latest deployments</h2>
${deploymentTable(environment, deployments)}
<h2>Latest queries</h2>
${queryTable(environment, queries)}
${lost(telemetry.dropped())}`;
}

function lost(dropped: number): Html {
  if (dropped === 0) return html``;
  return html`<p class="warn">Query runs and log lines that were not kept since the server started: ${dropped}. Too many came at once, or they could not be written; the server's log says when.</p>`;
}
