/** Spans in the order in which a waterfall shows them. */

/** A part of a whole that took time. */
export interface WaterfallSpan {
  readonly id: string;
  /** Empty, or of a span that is not there, for the outermost. */
  readonly parentId: string;
  readonly name: string;
  readonly startMs: number;
  readonly durationMs: number;
  readonly error?: string;
}

/** A span in its place: how deep it lies, and how many parts it has. */
export interface PlacedSpan {
  readonly span: WaterfallSpan;
  readonly depth: number;
  readonly parts: number;
}

/**
 * Spans depth first, each after its parent, siblings by their start; the parts of `folded` ones are
 * left out. Each span is there once at most, also when parents lead in a circle.
 */
export function arranged(spans: readonly WaterfallSpan[], folded: ReadonlySet<string> = new Set()): PlacedSpan[] {
  const known = new Set(spans.map(({ id }) => id));
  const inOrder = [...spans].sort((a, b) => a.startMs - b.startMs);
  const parts = Map.groupBy(inOrder, ({ parentId }) => (known.has(parentId) ? parentId : ""));
  const placed: PlacedSpan[] = [];
  const waiting = (parts.get("") ?? []).map((span) => ({ span, depth: 0 })).reverse();
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { span, depth } = next;
    const own = parts.get(span.id) ?? [];
    placed.push({ span, depth, parts: own.length });
    if (!folded.has(span.id)) waiting.push(...own.map((part) => ({ span: part, depth: depth + 1 })).reverse());
  }
  return placed;
}
