/**
 * The report of a benchmark as a page that needs nothing else: no scripts, no other files, and
 * every text of callers as text.
 */

import { formatDuration } from "../../domain/duration.ts";
import { Html, html } from "../../domain/html.ts";
import { latencyRows } from "../../domain/load/latency-rows.ts";
import type { BenchmarkFacts, BenchmarkFigures, BenchmarkMeasure, SecondMeasure } from "./result-file.ts";

const WIDTH = 760;
const HEIGHT = 180;
const ROW = 20;
/** Most points of a line: a second each, or the worst of several. */
const MAX_POINTS = 300;
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

const STYLE = `
body { font: 15px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; } td, th { padding: .2rem 1rem .2rem 0; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
.bar { fill: #2f6feb; } .p50 { stroke: #2f6feb; } .p99 { stroke: #b3541e; } polyline { fill: none; stroke-width: 1.5; }
.note { color: #59636e; } code, pre { font: 13px ui-monospace, monospace; } pre { overflow-x: auto; }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117; } .note { color: #9198a1; } .bar { fill: #6ea8fe; } .p50 { stroke: #6ea8fe; } .p99 { stroke: #f0a05a; } }
`;

/** The page. */
export function reportPage(facts: BenchmarkFacts, measure: BenchmarkMeasure): string {
  const { id, plan, warnings } = facts;
  const asked = plan.queryName === "" ? plan.outputs.join(", ") : `${plan.queryName} ${plan.queryNameVersion}`.trim();
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Benchmark ${id}</title>${new Html(`<style>${STYLE}</style>`)}</head><body>
<h1>Benchmark ${id}</h1>
<p>${measure.answered} of ${measure.due} queries answered in ${seconds(measure.elapsedMs)}, ${measure.failed} failed.
Latencies count from the time when a query was due, not from when it could be sent.</p>
${warnings.length > 0 && html`<ul>${warnings.map((warning) => html`<li>${warning}</li>`)}</ul>`}
<table>${rowsOf([
    ["Asked for", asked],
    ["Inputs", plan.inputFile === "" ? "given with the request" : `${plan.inputFile} (${facts.inputRevisionId})`],
    ["Rate", `${plan.qps} queries a second for ${formatDuration(plan.durationMs)}`],
    ["Warm-up", plan.warmupMs === 0 ? "none" : `${plan.warmupQps} queries a second for ${formatDuration(plan.warmupMs)}`],
    ["Sent to", plan.queryHost === "" ? "the server that ran it" : plan.queryHost],
    ["Environment", facts.branch === "" ? facts.environment : `${facts.environment}, branch ${facts.branch}`],
    ["Deployment", facts.deploymentId],
    ["Began", new Date(facts.startedAt).toISOString()],
    ["svc", facts.version],
  ])}</table>
<h2>Latency</h2>
<table><tr><th></th><th class="n">ms</th></tr>${latencyRows(measure).map(([name, ms]) => html`<tr><td>${name}</td><td class="n">${ms.toFixed(2)}</td></tr>`)}</table>
<h2>Histogram</h2>${histogram(measure)}
<h2>Over time</h2>${timeline(measure.seconds)}
${measure.errors.length > 0 && html`<h2>Errors</h2><table>${rowsOf(measure.errors.map(({ code, count }) => [code, String(count)]))}</table>`}
<h2>Resources</h2>
<table>${rowsOf([
    [
      "Load generator",
      `${seconds(measure.generatorCpuMs)} of processor time, ${Math.round(measure.generatorMemoryBytes / 1048576)} MiB at most`,
    ],
    ["Sent late by it", `${measure.lateMs.toFixed(2)} ms (99th percentile): its own part of the latencies`],
    ["Server process", `${seconds(facts.serverCpuMs)} of processor time, with the warm-up`],
    ["Limits asked for", limitsText(facts)],
  ])}</table>
${
  measure.samples.length > 0 &&
  html`<h2>Sampled queries</h2><p class="note">Values of personal features and of relations are not kept.</p>
${measure.samples.map((sample) => html`<pre>${JSON.stringify(sample, null, 1)}</pre>`)}`
}
</body></html>
`;
  return page.text;
}

function rowsOf(rows: readonly (readonly [string, string])[]): Html[] {
  return rows.map(([name, value]) => html`<tr><th>${name}</th><td>${value}</td></tr>`);
}

function histogram({ histogram: bins }: BenchmarkFigures): Html {
  const most = Math.max(1, ...bins.map(({ count }) => count));
  const rows = bins.map(({ toMs, count }, at) => {
    const y = at * ROW;
    const width = (count / most) * (WIDTH - 220);
    return html`<text x="100" y="${y + 14}" text-anchor="end">≤ ${toMs.toFixed(2)} ms</text>
<rect class="bar" x="110" y="${y + 3}" width="${width.toFixed(1)}" height="${ROW - 6}"/><text x="${(116 + width).toFixed(1)}" y="${y + 14}">${count}</text>`;
  });
  return html`<svg viewBox="0 0 ${WIDTH} ${Math.max(1, bins.length) * ROW}" role="img" aria-label="Queries by latency">${rows}</svg>`;
}

function timeline(all: readonly SecondMeasure[]): Html {
  const each = Math.max(1, Math.ceil(all.length / MAX_POINTS));
  const points = Array.from({ length: Math.ceil(all.length / each) }, (_, at) => {
    const group = all.slice(at * each, (at + 1) * each).filter(({ answered }) => answered > 0);
    return {
      second: at * each,
      p50: Math.max(0, ...group.map(({ p50Ms }) => p50Ms)),
      p99: Math.max(0, ...group.map(({ p99Ms }) => p99Ms)),
    };
  });
  const most = Math.max(0.01, ...points.map(({ p99 }) => p99));
  const line = (name: "p50" | "p99"): Html => {
    const places = points.map((point) => {
      const x = 60 + (point.second / Math.max(1, all.length - 1)) * (WIDTH - 70);
      return `${x.toFixed(1)},${(HEIGHT - 20 - (point[name] / most) * (HEIGHT - 40)).toFixed(1)}`;
    });
    return html`<polyline class="${name}" points="${places.join(" ")}"/>`;
  };
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="Latency by second">
<text x="54" y="24" text-anchor="end">${most.toFixed(1)} ms</text><text x="54" y="${HEIGHT - 18}" text-anchor="end">0</text>
<text x="60" y="${HEIGHT - 2}">0 s</text><text x="${WIDTH - 10}" y="${HEIGHT - 2}" text-anchor="end">${all.length} s</text>
${line("p50")}${line("p99")}</svg><p class="note">Each second: the median (lower line) and the 99th percentile (upper line)${each > 1 && `, the worst of ${each} seconds`}.</p>`;
}

function limitsText({ plan: { resources, warmupResources } }: BenchmarkFacts): string {
  const stated = [
    ...Object.entries(resources).map(([name, value]) => [name, value] as const),
    ...Object.entries(warmupResources).map(([name, value]) => [`warm-up ${name}`, value] as const),
  ].filter(([, value]) => value !== "");
  return stated.map(([name, value]) => `${name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)} ${value}`).join(", ") || "none";
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
