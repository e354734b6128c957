/** Pieces of HTML that several pages share. */

import { type Html, html, type Part } from "../../domain/html.ts";

/** A list of names and values; those without a value are left out. */
export function facts(entries: readonly (readonly [string, Part])[]): Html {
  const shown = entries.filter(([, value]) => value !== "" && value !== undefined && value !== null && value !== false);
  return html`<dl>${shown.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}
