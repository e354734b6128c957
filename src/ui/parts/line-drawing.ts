/** The drawing of line charts, by uPlot. A chunk of its own. */

import uPlot from "uplot";
import { figureText } from "./figure-text.ts";
import { DASHES, type Dot, type LineChartParts } from "./line-chart.tsx";
import { timeMarks } from "./time-text.ts";
import { flatScale, loneValues } from "./value-scale.ts";

const HEIGHT = 200;
const COLOURS = 5;
/** Pixels between marks of the time's scale at least, and where marks have milliseconds. */
const TIME_SPACE = 64;
const FINE_TIME_SPACE = 96;
/** Seconds below which a scale may have such marks. */
const FINE_SECONDS = 20;
/** Share of the values' range that is left free above and below. */
const PADDING = 0.1;

/**
 * Draws into an element and follows its width; `onCursor` gets the index of the time below the
 * cursor, or undefined. Returns the way to remove it.
 */
export function drawLines(place: HTMLElement, parts: LineChartParts, onCursor: (index: number | undefined) => void): () => void {
  const { times, series, figure = figureText, height = HEIGHT, group, onRange, dots = [], onDot } = parts;
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
      axes: [
        {
          ...axis,
          space: (_, __, from, to) => (to - from < FINE_SECONDS ? FINE_TIME_SPACE : TIME_SPACE),
          values: (_, splits) => timeMarks(splits),
        },
        { ...axis, size: 56, values: (_, splits) => splits.map((value) => (value === null ? "" : figure(value))) },
      ],
      series: [
        {},
        ...series.map(({ name }, line) => ({
          label: name,
          stroke: colour(`--c${(line % COLOURS) + 1}`),
          width: 1.5,
          dash: [...(DASHES[line % DASHES.length] ?? [])],
          points: { show: true, size: 5, filter: () => lone[line] ?? [] },
        })),
      ],
      scales: { y: { range: (_, low, high) => valueRange(low, high, dots) } },
      hooks: {
        draw: [(drawn) => drawDots(drawn, dots, (line) => colour(`--c${(line % COLOURS) + 1}`))],
        setCursor: [
          (drawn) => {
            onCursor(drawn.cursor.idx ?? undefined);
            drawn.over.style.cursor = dotAt(drawn, dots) === undefined ? "" : "pointer";
          },
        ],
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
  chart.over.addEventListener("click", () => {
    const found = dotAt(chart, dots);
    if (found !== undefined) onDot?.(found);
  });
  const sizes = new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height }));
  sizes.observe(place);
  return () => {
    sizes.disconnect();
    chart.destroy();
  };
}

const DOT_RADIUS = 4;
/** Pixels from a dot at which it is meant. */
const NEAR = 10;

/** The ends of the scale of values, of which the dots are some. */
function valueRange(low: number | null, high: number | null, dots: readonly Dot[]): uPlot.Range.MinMax {
  const values = [...dots.map(({ value }) => value), ...[low, high].filter((one) => one !== null)];
  if (values.length === 0) return [0, 1];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const [from, to] = flatScale(least, most) ?? uPlot.rangeNum(least, most, PADDING, true);
  // A scale that does not begin at 0 makes much of little.
  return [least >= 0 ? 0 : from, to];
}

function drawDots(drawn: uPlot, dots: readonly Dot[], colour: (line: number) => string): void {
  const { ctx } = drawn;
  ctx.save();
  for (const { time, value, line } of dots) {
    const [x, y] = [drawn.valToPos(time / 1000, "x", true), drawn.valToPos(value, "y", true)];
    if (x < drawn.bbox.left || x > drawn.bbox.left + drawn.bbox.width) continue;
    ctx.beginPath();
    ctx.arc(x, y, DOT_RADIUS * devicePixelRatio, 0, 2 * Math.PI);
    ctx.fillStyle = colour(line);
    ctx.globalAlpha = 0.35;
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colour(line);
    ctx.stroke();
  }
  ctx.restore();
}

/** The index of the dot below the cursor; undefined when there is none. */
function dotAt(drawn: uPlot, dots: readonly Dot[]): number | undefined {
  const { left = -1, top = -1 } = drawn.cursor;
  if (left < 0 || top < 0) return undefined;
  const far = dots.map(({ time, value }) => Math.hypot(drawn.valToPos(time / 1000, "x") - left, drawn.valToPos(value, "y") - top));
  const nearest = far.indexOf(Math.min(...far));
  return (far[nearest] ?? Number.POSITIVE_INFINITY) <= NEAR ? nearest : undefined;
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
