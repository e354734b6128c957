/**
 * The `traceparent` header of W3C Trace Context: the trace that a request belongs to, the span that
 * it comes from, and whether its spans are kept.
 */

/** The content of a `traceparent` header. */
export interface TraceParent {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** 16 lower-case hex digits. */
  readonly spanId: string;
  /** Whether the caller keeps its spans. */
  readonly sampled: boolean;
  /** What is passed on with it; absent = nothing. */
  readonly carried?: CarriedHeaders;
}

/**
 * Headers that are passed on to what a query calls, as they came, and are never kept: `tracestate`
 * of W3C Trace Context, and W3C Baggage.
 */
export interface CarriedHeaders {
  readonly tracestate?: string;
  readonly baggage?: string;
}

/** Longest headers that are passed on, in characters: what the standards ask for at least. */
const LONGEST: Readonly<Record<keyof CarriedHeaders, number>> = { tracestate: 512, baggage: 8_192 };

/** The headers that are passed on; those that are too long, or not ASCII, are left out. */
export function carriedHeaders(headers: Pick<Headers, "get">): CarriedHeaders {
  const names = Object.keys(LONGEST) as (keyof CarriedHeaders)[];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers.get(name)?.trim() ?? "";
      return value !== "" && value.length <= LONGEST[name] && /^[\t\x20-\x7e]*$/.test(value) ? [[name, value]] : [];
    }),
  );
}

const HEADER = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * The content of a header; undefined when there is none, or an invalid one, which the standard says
 * to ignore.
 */
export function parseTraceparent(header: string | null): TraceParent | undefined {
  if (header === null) return undefined;
  const [, version, traceId = "", spanId = "", flags = "", rest] = HEADER.exec(header.trim()) ?? [];
  if (version === undefined || version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** The text of a header. */
export function formatTraceparent({ traceId, spanId, sampled }: TraceParent): string {
  return `00-${traceId}-${spanId}-${sampled ? "01" : "00"}`;
}

/** The header of a caller that asks for a trace of what it calls. */
export function sampledTraceparent(): string {
  return formatTraceparent({ traceId: newTraceId(), spanId: newSpanId(), sampled: true });
}

/** A new trace's id. */
export function newTraceId(): string {
  return randomHex(16);
}

/** A new span's id. */
export function newSpanId(): string {
  return randomHex(8);
}

function randomHex(bytes: number): string {
  const random = crypto.getRandomValues(new Uint8Array(bytes));
  random[0] = (random[0] ?? 0) | 1;
  return random.toHex();
}
