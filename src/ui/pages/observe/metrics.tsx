import type { ChartJson } from "../../../../gen/svc/v1/metric_pb.ts";
import { formatDuration } from "../../../domain/duration.ts";
import { useAnswer } from "../../api/load.ts";
import { now } from "../../app/clock.ts";
import { useCommand } from "../../app/command.ts";
import { queried, setQueried } from "../../app/place.ts";
import { environmentScope } from "../../app/who.ts";
import { Empty } from "../../parts/empty.tsx";
import { Loading } from "../../parts/loading.tsx";
import { Page } from "../../parts/page.tsx";
import { Range } from "../../parts/range.tsx";
import { rangeTimes } from "../../parts/range-times.ts";
import { Tabs } from "../../parts/tabs.tsx";
import { readRange } from "../../parts/time-range.ts";
import { durationMs } from "../define/feature-text.ts";
import { Chart } from "./chart.tsx";
import { ExpressionBox, expressionProblem } from "./expression-box.tsx";
import { PinChart, UnpinChart } from "./kept-chart.tsx";

/**
 * What was recorded over time: an expression of one's own, the charts that are kept with the
 * project, and those that every server has.
 */
export default function Metrics() {
  const command = useCommand();
  const expression = queried("e");
  const withBefore = queried("before") === "yes";
  const charts = useAnswer("MetricService/ListCharts", {}, environmentScope.value);
  const range = readRange(queried("range"), now.value);
  const since = formatDuration(range.lastMs ?? Math.ceil((now.value - range.from) / 60_000) * 60_000);
  const ofExpression = command("metrics", "query", expression, "--since", since);
  const isEvaluated = expression !== "" && expressionProblem(expression) === undefined;
  return (
    <Page title="Metrics" command={isEvaluated ? ofExpression : command("charts", "list")}>
      <ExpressionBox value={expression} onEvaluate={(e) => setQueried({ e })} />
      <div class="range-row">
        <Range />
        <label>
          <input type="checkbox" checked={withBefore} onChange={() => setQueried({ before: withBefore ? "" : "yes" })} /> Compare with the
          time before
        </label>
      </div>
      {isEvaluated && (
        <>
          <Chart title={expression} of={{ expression }} range={range} withBefore={withBefore} command={ofExpression} />
          <PinChart key={expression} expression={expression} lengthMs={range.to - range.from} onDone={charts.reload} />
        </>
      )}
      <Loading of={charts} lines={8}>
        {({ charts: all = [] }) =>
          all.length === 0 ? (
            <Empty command={command("charts", "list")}>You see no charts of this environment.</Empty>
          ) : (
            <Tabs
              label="Boards"
              parameter="board"
              tabs={[...Map.groupBy(all, ({ board = "" }) => board)].map(([board, own]) => ({
                name: board,
                title: `${board.charAt(0).toUpperCase()}${board.slice(1)}`,
                content: () => <Board charts={own} withBefore={withBefore} onChange={charts.reload} />,
              }))}
            />
          )
        }
      </Loading>
    </Page>
  );
}

interface BoardParts {
  readonly charts: readonly ChartJson[];
  readonly withBefore: boolean;
  /** Called when charts were taken away. */
  readonly onChange: () => void;
}

function Board({ charts, withBefore, onChange }: BoardParts) {
  return (
    <div class="board">
      {charts.map((chart) => (
        <div key={chart.id}>
          <BoardChart chart={chart} withBefore={withBefore} />
          {chart.createdAt !== undefined && <UnpinChart chart={chart} onDone={onChange} />}
        </div>
      ))}
    </div>
  );
}

/** A chart over the range of the address; without one, over that which it was kept with. */
function BoardChart({ chart, withBefore }: { readonly chart: ChartJson; readonly withBefore: boolean }) {
  const command = useCommand();
  const { id = "", name = "", series = [] } = chart;
  const own = chart.range === undefined ? "" : formatDuration(durationMs(chart.range));
  const isOwn = queried("range") === "";
  const range = readRange(queried("range") || own, now.value);
  const times = isOwn ? {} : rangeTimes(range);
  return (
    <Chart
      title={name}
      of={{ chart: id, series }}
      range={range}
      withBefore={withBefore}
      command={command("charts", "evaluate", JSON.stringify({ chart: id, ...times }))}
    />
  );
}
