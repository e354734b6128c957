/** The spans of a query run as a waterfall. */

import { readableName } from "../../domain/name.ts";
import { SPAN_ATTRIBUTES as ATTRIBUTE } from "../../domain/span-attributes.ts";
import type { SpanRecord } from "../stores/telemetry/store.ts";
import { type Html, html } from "./html.ts";

/** Width of the bars' scale in units of the drawing. */
const SCALE = 1_000;
/** Most spans that are drawn. */
const MAX_DRAWN = 500;

/** A waterfall with a bar for each span, below its parent; without spans, how to get some. */
export function traceSection(spans: readonly SpanRecord[]): Html {
  const [first] = spans;
  if (!first) return html`<p class="dim">Spans are kept when a query asks for it: <code>svc query --trace</code>.</p>`;
  const begin = Math.min(...spans.map(({ startedAt }) => startedAt));
  const end = Math.max(...spans.map(({ startedAt, durationMs }) => startedAt + durationMs));
  const unit = SCALE / Math.max(end - begin, 0.001);
  const rows = inOrder(spans);
  const left = rows.length - MAX_DRAWN;
  return html`<p class="dim">Trace <code>${first.traceId}</code></p>
<div class="scroll"><table>
<thead><tr><th>Span</th><th>ms</th><th>${(end - begin).toFixed(2)} ms</th><th>Facts</th></tr></thead>
<tbody>${rows.slice(0, MAX_DRAWN).map(({ span, depth }) => row(span, depth, (span.startedAt - begin) * unit, span.durationMs * unit))}</tbody>
</table></div>${left > 0 && html`<p class="dim">And ${left} more.</p>`}`;
}

function row(span: SpanRecord, depth: number, from: number, length: number): Html {
  const bar = html`<svg viewBox="0 0 ${SCALE} 12" width="320" height="12" preserveAspectRatio="none" role="img" aria-label="${from.toFixed(0)} to ${(from + length).toFixed(0)} of ${SCALE}"><rect class="bar${span.error && " bad"}" x="${from.toFixed(1)}" y="1" width="${Math.max(length, 3).toFixed(1)}" height="10"></rect></svg>`;
  const facts = Object.entries(span.attributes)
    .filter(([name, value]) => name !== ATTRIBUTE.step && value !== span.name)
    .map(
      ([name, value]) =>
        html`<span class="fact"><span class="dim">${name.replace(/^svc\./, "").replaceAll(/[._]/g, " ")}</span> ${value}</span> `,
    );
  return html`<tr><td class="name">${"\u00a0\u00a0".repeat(depth)}<span class="dim">${span.attributes[ATTRIBUTE.step] ?? span.kind}</span> ${readableName(span.name)}</td>
<td class="num">${span.durationMs.toFixed(2)}</td><td>${bar}</td><td class="wide">${facts}${span.error && html`<span class="bad">${span.error}</span>`}</td></tr>\n`;
}

/** Spans in depth-first order, each after its parent, siblings by their start. */
function inOrder(spans: readonly SpanRecord[]): { readonly span: SpanRecord; readonly depth: number }[] {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const parts = Map.groupBy(spans, ({ parentSpanId }) => (known.has(parentSpanId) ? parentSpanId : ""));
  const found: { span: SpanRecord; depth: number }[] = [];
  const add = (parent: string, depth: number): void => {
    for (const span of parts.get(parent) ?? []) {
      found.push({ span, depth });
      add(span.spanId, depth + 1);
    }
  };
  add("", 0);
  return found;
}
