/**
 * The spans of one traced query, collected while it runs and handed to the telemetry store after
 * the answer.
 */

import { SPAN_ATTRIBUTES as ATTRIBUTE, type SpanAttribute } from "../../../domain/span-attributes.ts";
import { formatTraceparent, newSpanId, newTraceId, type TraceParent } from "../../../domain/traceparent.ts";
import type { SpanKind, SpanRecord } from "../../stores/telemetry/store.ts";

/** Most spans of a query that are kept; further ones are counted. */
const MAX_SPANS = 2_000;

/** Attributes of a span; undefined ones are left out. */
export type SpanFacts = Readonly<Partial<Record<SpanAttribute, string | number | boolean | undefined>>>;

/** A piece of work that has begun. */
export interface OpenSpan {
  readonly id: string;
  readonly parentId: string;
  readonly kind: SpanKind;
  readonly name: string;
  /** Of `performance.now()`. */
  readonly began: number;
  facts: SpanFacts;
  error: string;
}

/** Records the spans of a query. */
export class SpanRecorder {
  readonly traceId: string;
  readonly root: OpenSpan;
  /** Milliseconds from the first span's begin to its end; 0 until that. */
  durationMs = 0;
  readonly #ended: (OpenSpan & { readonly durationMs: number })[] = [];
  readonly #open = new Set<OpenSpan>();
  #left = 0;

  /**
   * Opens the first span.
   * @param startedAt epoch milliseconds now
   * @param parent the caller's span
   * @param isAsked whether somebody asked for the trace, who is told its id
   * @param kind of the first span
   */
  constructor(
    name: string,
    readonly startedAt: number,
    parent: TraceParent | undefined,
    readonly isAsked = true,
    kind: SpanKind = "gateway",
  ) {
    this.traceId = parent?.traceId ?? newTraceId();
    this.root = this.#make(kind, name, parent?.spanId ?? "", {});
  }

  /** The `traceparent` header that makes another service's spans children of a span. */
  traceparent(span: OpenSpan): string {
    return formatTraceparent({ traceId: this.traceId, spanId: span.id, sampled: true });
  }

  /** Begins a span, as a part of another one. */
  open(kind: SpanKind, name: string, parent: OpenSpan = this.root, facts: SpanFacts = {}): OpenSpan {
    const span = this.#make(kind, name, parent.id, facts);
    if (this.#open.size + this.#ended.length >= MAX_SPANS) this.#left++;
    else this.#open.add(span);
    return span;
  }

  /**
   * Ends a span, once. Does nothing without a span, so that callers whose recorder may be missing
   * need no check.
   */
  end(span: OpenSpan | undefined, facts: SpanFacts = {}, error = ""): void {
    if (!span || !this.#open.delete(span)) return;
    span.facts = { ...span.facts, ...facts };
    span.error = error;
    this.#ended.push({ ...span, durationMs: performance.now() - span.began });
  }

  /** Ends the first span and every open one; returns all spans, the first one first. */
  finish(place: Pick<SpanRecord, "queryId" | "deploymentId">, facts: SpanFacts, error = ""): Omit<SpanRecord, "environmentId">[] {
    for (const span of this.#open) this.end(span, {}, "not finished when the query was answered");
    this.#open.add(this.root);
    this.durationMs = performance.now() - this.root.began;
    this.end(this.root, { ...facts, ...(this.#left > 0 ? { [ATTRIBUTE.spansLeftOut]: this.#left } : {}) }, error);
    return [...this.#ended.splice(-1), ...this.#ended].map(
      ({ id, parentId, kind, name, began, durationMs, facts: known, error: failure }) => ({
        ...place,
        traceId: this.traceId,
        spanId: id,
        parentSpanId: parentId,
        kind,
        name,
        startedAt: this.startedAt + (began - this.root.began),
        durationMs,
        error: failure,
        attributes: Object.fromEntries(
          Object.entries(known).flatMap(([fact, value]) => (value === undefined ? [] : [[fact, String(value)]])),
        ),
      }),
    );
  }

  #make(kind: SpanKind, name: string, parentId: string, facts: SpanFacts): OpenSpan {
    return { id: newSpanId(), parentId, kind, name, began: performance.now(), facts, error: "" };
  }
}

/**
 * The `traceparent` header for what a query leads to: of its first span when somebody asked for the
 * trace, else the caller's; undefined when there is neither.
 */
export function toldSpan(spans: SpanRecorder | undefined, parent: TraceParent | undefined): string | undefined {
  if (spans?.isAsked) return spans.traceparent(spans.root);
  return parent && formatTraceparent(parent);
}

/** Id of the trace that somebody asked for; empty when nobody did. */
export function toldTrace(spans: SpanRecorder | undefined): string {
  return spans?.isAsked ? spans.traceId : "";
}
