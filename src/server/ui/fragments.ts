/** Pieces of HTML that several pages share. */

import { addressOf } from "../../domain/addresses.ts";
import { formatTimestamp } from "../../domain/timestamp.ts";
import type { StoredRecord } from "../stores/logs/store.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
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

/** A link to a deployment's page. */
export function deploymentLink(environment: Pick<EnvironmentRecord, "id">, id: string): Html {
  return html`<a href="${addressOf("deployment", { id }, { environment: environment.id })}"><code>${id}</code></a>`;
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
