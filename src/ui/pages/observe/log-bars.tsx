import { useSignal } from "@preact/signals";
import type { AggregateLogsResponseJson } from "../../../../gen/svc/v1/log_pb.ts";
import { setQueried } from "../../app/place.ts";
import { rangeText } from "../../parts/time-range.ts";
import { localText } from "../../parts/time-text.ts";
import { LEVEL_GROUPS, type LevelBar, levelBars } from "./log-levels.ts";

const WIDTH = 900;
const HEIGHT = 80;

/** Lines over time by level; a bar that is chosen becomes the range. */
export function LogBars({ answer }: { readonly answer: AggregateLogsResponseJson }) {
  const at = useSignal(-1);
  const { counts = [], endTime = "", startTime = "", window = "0s" } = answer;
  const bars = levelBars(counts, Date.parse(startTime), Date.parse(endTime), Number.parseFloat(window) * 1000);
  const sums = LEVEL_GROUPS.map((_, group) => bars.reduce((sum, bar) => sum + (bar.counts[group] ?? 0), 0));
  const chosen = bars[at.value];
  const words = wordsOf(chosen?.counts ?? sums);
  const when = chosen === undefined ? "" : `${localText(chosen.from)} to ${localText(chosen.to).slice(11)}: `;
  const choose = ({ from, to }: LevelBar) => setQueried({ range: rangeText({ from, to }) });
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step !== undefined) at.value = Math.max(0, Math.min(bars.length - 1, at.value + step));
    else if (event.key === "Enter" && chosen) choose(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <figure class="log-bars">
      <div class="most figure" aria-hidden="true">
        {mostOf(bars).toLocaleString("en")}
      </div>
      <svg
        role="img"
        aria-label={`Lines over time. ${when}${words}. Arrows read the bars, Enter shows one alone.`}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrows read the bars
        tabIndex={0}
        onKeyDown={onKeyDown}
        onPointerLeave={() => (at.value = -1)}
      >
        {drawn(bars).map(({ bar, parts, x, width }, place) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the keys are the whole chart's
          <g key={bar.from} onPointerEnter={() => (at.value = place)} onClick={() => choose(bar)}>
            <rect class={place === at.value ? "column chosen" : "column"} x={x} y="0" width={width} height={HEIGHT} />
            {parts.map(({ height, name, y }) => (
              <rect key={name} class={name.toLowerCase()} x={x + 0.5} y={y} width={Math.max(width - 1, 0.5)} height={height} />
            ))}
          </g>
        ))}
      </svg>
      <div class="times figure" aria-hidden="true">
        {[0, 0.5, 1].map((share) => (
          <span key={share}>{localText(Date.parse(startTime) + share * (Date.parse(endTime) - Date.parse(startTime))).slice(5, 16)}</span>
        ))}
      </div>
      <figcaption class="dim figure">
        {when}
        <Legend counts={chosen?.counts ?? sums} />
      </figcaption>
    </figure>
  );
}

/** Each group of levels with its colour and the number of its lines. */
function Legend({ counts }: { readonly counts: readonly number[] }) {
  return (
    <ul class="legend">
      {LEVEL_GROUPS.map(({ name }, group) => (
        <li key={name}>
          <svg width="10" height="10" aria-hidden="true">
            <rect class={name.toLowerCase()} width="10" height="10" />
          </svg>
          {name} {(counts[group] ?? 0).toLocaleString("en")}
        </li>
      ))}
    </ul>
  );
}

function wordsOf(counts: readonly number[]): string {
  const named = LEVEL_GROUPS.map(({ name }, group) => [name, counts[group] ?? 0] as const).filter(([, count]) => count > 0);
  if (named.length === 0) return "No lines";
  return named.map(([name, count]) => `${name} ${count.toLocaleString("en")}`).join(", ");
}

/** Lines of the highest bar, at least 1. */
function mostOf(bars: readonly LevelBar[]): number {
  return Math.max(...bars.map(({ counts }) => counts.reduce((sum, count) => sum + count, 0)), 1);
}

/** The places of bars, errors at the bottom. */
function drawn(bars: readonly LevelBar[]) {
  const most = mostOf(bars);
  const width = WIDTH / Math.max(bars.length, 1);
  return bars.map((bar, at) => {
    let top = HEIGHT;
    const parts = LEVEL_GROUPS.map(({ name }, group) => {
      const count = bar.counts[group] ?? 0;
      const height = count === 0 ? 0 : Math.max((count / most) * (HEIGHT - 4), 1);
      top -= height;
      return { name, height, y: top };
    });
    return { bar, parts: parts.filter(({ height }) => height > 0), x: at * width, width };
  });
}
