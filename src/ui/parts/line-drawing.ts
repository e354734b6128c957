/** The drawing of line charts, by uPlot. A chunk of its own. */

import uPlot from "uplot";
import { figureText } from "./figure-text.ts";
import { DASHES, type LineChartParts } from "./line-chart.tsx";
import { localText } from "./time-text.ts";
import { flatScale, loneValues } from "./value-scale.ts";

const HEIGHT = 200;
const COLOURS = 5;
/** Share of the values' range that is left free above and below. */
const PADDING = 0.1;

/**
 * Draws into an element and follows its width; `onCursor` gets the index of the time below the
 * cursor, or undefined. Returns the way to remove it.
 */
export function drawLines(place: HTMLElement, parts: LineChartParts, onCursor: (index: number | undefined) => void): () => void {
  const { times, series, figure = figureText, height = HEIGHT, group, onRange } = parts;
  const colour = colourOf(place);
  const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  const lone = series.map(({ values }) => loneValues(values));
  const chart = new uPlot(
    {
      width: place.clientWidth,
      height,
      legend: { show: false },
      cursor: {
        ...(group === undefined ? {} : { sync: { key: group } }),
        drag: { x: onRange !== undefined, y: false, setScale: false },
      },
      scales: { y: { range: (_, low, high) => flatScale(low, high) ?? uPlot.rangeNum(low, high, PADDING, true) } },
      axes: [
        { ...axis, values: (_, splits) => timeMarks(splits) },
        { ...axis, size: 56, values: (_, splits) => splits.map((value) => (value === null ? "" : figure(value))) },
      ],
      series: [
        {},
        ...series.map(({ name }, line) => ({
          label: name,
          stroke: colour(`--c${(line % COLOURS) + 1}`),
          width: 1.5,
          dash: [...(DASHES[line % DASHES.length] ?? [])],
          points: { show: false, filter: () => lone[line] ?? [] },
        })),
      ],
      hooks: {
        setCursor: [({ cursor }) => onCursor(cursor.idx ?? undefined)],
        setSelect: [
          (drawn) => {
            const [from, to] = [drawn.select.left, drawn.select.left + drawn.select.width].map((x) => drawn.posToVal(x, "x") * 1000);
            if (from !== undefined && to !== undefined && drawn.select.width > 2) onRange?.(from, to);
          },
        ],
      },
    },
    [times.map((ms) => ms / 1000), ...series.map(({ values }) => [...values])],
    place,
  );
  const sizes = new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height }));
  sizes.observe(place);
  return () => {
    sizes.disconnect();
    chart.destroy();
  };
}

/** The marks of the time's scale: times of the day, or days when they are a day apart. */
function timeMarks(seconds: readonly number[]): string[] {
  const isByDay = (seconds[1] ?? 0) - (seconds[0] ?? 0) >= 86_400;
  return seconds.map((second) => {
    const text = localText(second * 1000);
    return isByDay || text.endsWith("00:00:00") ? text.slice(5, 10) : text.slice(11, 16);
  });
}

/** Reads colours of the style, as they are in the present theme. */
function colourOf(place: HTMLElement): (token: string) => string {
  return (token) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${token})`;
    place.append(probe);
    const { color } = getComputedStyle(probe);
    probe.remove();
    return color;
  };
}
