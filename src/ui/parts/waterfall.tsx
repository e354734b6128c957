import { useSignal } from "@preact/signals";
import { escapeControls } from "../../domain/name.ts";
import { durationText } from "./duration.tsx";
import { arranged, type WaterfallSpan } from "./span-tree.ts";

const SCALE = 1_000;

interface WaterfallParts {
  readonly label: string;
  readonly spans: readonly WaterfallSpan[];
  /** Called with the span that was chosen. */
  readonly onChoose?: (span: WaterfallSpan) => void;
}

/** Parts of a whole over time: a bar for each span, below its parent; those with parts fold. */
export function Waterfall({ label, spans, onChoose }: WaterfallParts) {
  const folded = useSignal<ReadonlySet<string>>(new Set());
  const begin = Math.min(...spans.map(({ startMs }) => startMs));
  const end = Math.max(...spans.map(({ startMs, durationMs }) => startMs + durationMs));
  const unit = SCALE / Math.max(end - begin, 1e-6);
  const fold = (id: string) => {
    const next = new Set(folded.value);
    if (!next.delete(id)) next.add(id);
    folded.value = next;
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section class="scroll" aria-label={label} tabIndex={0}>
      <table class="waterfall" aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Span</th>
            <th scope="col" class="number">
              Took
            </th>
            <th scope="col">{durationText(end - begin)}</th>
          </tr>
        </thead>
        <tbody>
          {arranged(spans, folded.value).map(({ span, depth, parts }) => (
            <tr key={span.id}>
              <th scope="row">
                <span style={{ paddingLeft: `${depth * 16}px` }} class="span-name">
                  {parts > 0 ? (
                    <button
                      type="button"
                      class="fold"
                      aria-expanded={!folded.value.has(span.id)}
                      aria-label={`Parts of ${span.name}`}
                      onClick={() => fold(span.id)}
                    >
                      {folded.value.has(span.id) ? "\u25b8" : "\u25be"}
                    </button>
                  ) : (
                    <span class="fold" />
                  )}
                  {onChoose ? (
                    <button type="button" class="quiet" onClick={() => onChoose(span)}>
                      {escapeControls(span.name)}
                    </button>
                  ) : (
                    escapeControls(span.name)
                  )}
                  {span.error && <span class="bad"> failed</span>}
                </span>
              </th>
              <td class="number">{durationText(span.durationMs)}</td>
              <td>
                <svg viewBox={`0 0 ${SCALE} 12`} preserveAspectRatio="none" aria-hidden="true">
                  <rect
                    class={span.error ? "failed-bar" : "bar"}
                    x={(span.startMs - begin) * unit}
                    y="1"
                    width={Math.max(span.durationMs * unit, 3)}
                    height="10"
                  />
                </svg>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
