import { useMemo } from "preact/hooks";
import { toast } from "../../app/toasts.tsx";
import { Bars } from "../../parts/bars.tsx";
import { durationText } from "../../parts/duration.tsx";
import { Histogram } from "../../parts/histogram.tsx";
import { LineChart } from "../../parts/line-chart.tsx";
import { MetricLines } from "../../parts/metric-lines.tsx";
import { Sparkline } from "../../parts/sparkline.tsx";
import { utcText } from "../../parts/time-text.ts";
import { Waterfall } from "../../parts/waterfall.tsx";
import type { Example } from "./example.ts";

const POINTS = 240;
const START_MS = Date.UTC(2026, 0, 1);
const MINUTE_MS = 60_000;

/** A wave with some unrest, the same at each visit. */
const wave = (at: number, size: number, length: number) => size * (1.3 + Math.sin(at / length) + 0.3 * Math.sin(at * 1.7));
const BUCKETS = Array.from({ length: 24 }, (_, at) => ({
  from: 2 ** (at / 4),
  to: 2 ** ((at + 1) / 4),
  count: Math.round(400 * Math.exp(-((at - 9) ** 2) / 20)),
}));
const SPANS = [
  { id: "1", parentId: "", name: "query", startMs: 0, durationMs: 12.4 },
  { id: "2", parentId: "1", name: "plan", startMs: 0.2, durationMs: 0.8 },
  { id: "3", parentId: "1", name: "resolver resolvers.get_name", startMs: 1.1, durationMs: 8.3 },
  { id: "4", parentId: "3", name: "SELECT name FROM users", startMs: 2, durationMs: 6 },
  { id: "5", parentId: "1", name: "resolver resolvers.greet", startMs: 9.6, durationMs: 2.5, error: "ValueError" },
];

function Lines() {
  const times = useMemo(() => Array.from({ length: POINTS }, (_, at) => START_MS + at * MINUTE_MS), []);
  const series = useMemo(
    () => [
      { name: "p50", values: times.map((_, at) => wave(at, 4, 20)) },
      { name: "p95", values: times.map((_, at) => (at > 100 && at < 120 ? null : wave(at, 9, 23))) },
      { name: "p99", values: times.map((_, at) => wave(at, 14, 31)) },
    ],
    [times],
  );
  return (
    <LineChart
      label="Latency"
      times={times}
      series={series}
      figure={(ms) => durationText(ms)}
      onRange={(from, to) => toast(`${utcText(from)} to ${utcText(to)}`)}
    />
  );
}

/** Times with one value, and with nothing but zeros. */
function FewValues({
  label,
  values,
  unit,
}: {
  readonly label: string;
  readonly values: readonly (number | null)[];
  readonly unit: string;
}) {
  const data = useMemo(
    () => ({ times: values.map((_, at) => START_MS + at * MINUTE_MS), series: [{ name: label, values }] }),
    [label, values],
  );
  return <MetricLines label={label} data={data} unit={unit} height={120} />;
}
const ONE = [null, null, 0.4, null, null];
const ZEROS = [0, 0, 0, 0];

/** What is drawn. */
export const CHARTS: readonly Example[] = [
  ["Line chart", () => <Lines />],
  ["Line chart of one value", () => <FewValues label="One" values={ONE} unit="METRIC_UNIT_SECONDS" />],
  ["Line chart of zeros", () => <FewValues label="Zeros" values={ZEROS} unit="METRIC_UNIT_RATIO" />],
  [
    "Sparkline",
    () => (
      <p>
        <Sparkline label="Requests" values={Array.from({ length: 40 }, (_, at) => wave(at, 10, 6))} />{" "}
        <Sparkline
          label="Requests with a gap"
          values={Array.from({ length: 40 }, (_, at) => (at > 15 && at < 22 ? null : wave(at, 10, 6)))}
        />{" "}
        <Sparkline label="Nothing" values={[]} />
      </p>
    ),
  ],
  [
    "Bars",
    () => (
      <Bars
        label="Requests by resolver"
        bars={[
          { name: "resolvers.get_name", value: 12_345 },
          { name: "resolvers.greet", value: 4_321 },
          { name: "<script>", value: 12 },
          { name: "none", value: 0 },
        ]}
      />
    ),
  ],
  ["Histogram", () => <Histogram label="Latency" buckets={BUCKETS} bound={durationText} />],
  ["Histogram of nothing", () => <Histogram label="Latency" buckets={[]} />],
  ["Waterfall", () => <Waterfall label="Spans" spans={SPANS} onChoose={({ name }) => toast(name)} />],
];
