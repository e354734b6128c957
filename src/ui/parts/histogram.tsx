import { useSignal } from "@preact/signals";
import { figureText } from "./figure-text.ts";
import { ticks } from "./ticks.ts";

/** Values of at least `from` and less than `to`, and how many. */
export interface Bucket {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

interface HistogramParts {
  readonly label: string;
  /** From the least to the greatest. */
  readonly buckets: readonly Bucket[];
  /** Text of a bound; default: three digits that count. */
  readonly bound?: (value: number) => string;
  readonly height?: number;
  /** Called with the bucket that was chosen by mouse or Enter. */
  readonly onChoose?: (bucket: Bucket) => void;
}

const WIDTH = 600;
/** Share of the width from which a mark has no room on its right. */
const NEAR_END = 0.85;

/** How often values were where: bars whose counts arrows read. */
export function Histogram({ label, buckets, bound = figureText, height = 100, onChoose }: HistogramParts) {
  const at = useSignal(-1);
  const most = Math.max(...buckets.map(({ count }) => count), 1);
  const unit = WIDTH / Math.max(buckets.length, 1);
  const all = buckets.reduce((sum, { count }) => sum + count, 0);
  const chosen = buckets[at.value];
  const words = chosen
    ? `${bound(chosen.from)} to ${bound(chosen.to)}: ${chosen.count}`
    : `${figureText(all)} ${all === 1 ? "value" : "values"}, at most ${figureText(most)} in a bar`;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step !== undefined) at.value = Math.max(0, Math.min(buckets.length - 1, at.value + step));
    else if (event.key === "Enter" && chosen) onChoose?.(chosen);
    else return;
    event.preventDefault();
  };
  const marks = ticks(0, buckets.length, 6).filter((mark) => Number.isInteger(mark) && mark < buckets.length);
  if (buckets.length === 0) return <p class="dim">{label}: no values.</p>;
  return (
    <figure class="histogram">
      <svg
        role="img"
        aria-label={`${label}: ${words}`}
        viewBox={`0 0 ${WIDTH} ${height}`}
        preserveAspectRatio="none"
        style={{ height: `${height}px` }}
        // Attributes of drawings keep their case: `tabIndex` would do nothing.
        tabindex={0}
        onKeyDown={onKeyDown}
        onPointerLeave={() => (at.value = -1)}
      >
        {buckets.map(({ from, count }, place) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the keys are the whole chart's
          <g key={from} onPointerEnter={() => (at.value = place)} onClick={() => onChoose?.({ ...(buckets[place] as Bucket) })}>
            <rect x={place * unit} y={0} width={unit} height={height} fill="transparent" />
            <rect
              class={place === at.value ? "chosen" : "bar"}
              x={place * unit + 0.5}
              y={height - (count / most) * (height - 4)}
              width={Math.max(unit - 1, 0.5)}
              height={(count / most) * (height - 4)}
            />
          </g>
        ))}
      </svg>
      <div class="marks figure" aria-hidden="true">
        {marks.map((mark) => (
          <span key={mark} style={mark / buckets.length > NEAR_END ? { right: "0" } : { left: `${(100 * mark) / buckets.length}%` }}>
            {bound(buckets[mark]?.from ?? 0)}
          </span>
        ))}
      </div>
      <figcaption class="dim">{words}</figcaption>
    </figure>
  );
}
