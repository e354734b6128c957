/** Spans of the contract as a waterfall shows them. */

import type { TraceSpanJson } from "../../../../gen/svc/v1/query_pb.ts";
import { readableName } from "../../../domain/name.ts";
import { SPAN_ATTRIBUTES } from "../../../domain/span-attributes.ts";
import type { WaterfallSpan } from "../../parts/span-tree.ts";
import { durationMs } from "../define/feature-text.ts";

/** A span of a trace in the form of the waterfall, with its facts. */
export interface RunSpan extends WaterfallSpan {
  readonly facts: readonly (readonly [name: string, text: string])[];
}

/** Spans in the form of the waterfall: the kind of work, and what it was about. */
export function runSpans(spans: readonly TraceSpanJson[]): readonly RunSpan[] {
  return spans.map(({ spanId = "", parentSpanId = "", kind = "", name = "", startTime = "", duration, error, attributes = {} }) => {
    const work = attributes[SPAN_ATTRIBUTES.step] ?? kind.replace("TRACE_SPAN_KIND_", "").toLowerCase();
    return {
      id: spanId,
      parentId: parentSpanId,
      name: work === name || name === "" ? work : `${work} ${readableName(name)}`,
      startMs: instantMs(startTime),
      durationMs: durationMs(duration),
      ...(error ? { error } : {}),
      facts: [
        ...(error ? [["error", error] as const] : []),
        ...Object.entries(attributes)
          .filter(([fact]) => fact !== SPAN_ATTRIBUTES.step)
          .map(([fact, text]) => [fact.replace(/^svc\./, "").replaceAll(/[._]/g, " "), text] as const),
      ],
    };
  });
}

/** Milliseconds of a time in the contract's JSON, to the microsecond. */
function instantMs(text: string): number {
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? "";
  return Math.floor(Date.parse(text) / 1_000) * 1_000 + Number(`0.${fraction || 0}`) * 1_000;
}

/** The spans with a text in their names, facts or errors, in either case. */
export function spansWith(spans: readonly TraceSpanJson[], text: string): readonly TraceSpanJson[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return spans;
  return spans.filter(({ attributes = {}, error = "", name = "" }) =>
    [name, readableName(name), error, ...Object.entries(attributes).flat()].some((one) => one.toLowerCase().includes(wanted)),
  );
}
