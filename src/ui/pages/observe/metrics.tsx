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
import { Chart } from "./chart.tsx";
import { ExpressionBox, expressionProblem } from "./expression-box.tsx";

/**
 * What was recorded over time: an expression of one's own, and the charts that every server has.
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
      {isEvaluated && <Chart title={expression} of={{ expression }} range={range} withBefore={withBefore} command={ofExpression} />}
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
                content: () => <Board charts={own} withBefore={withBefore} />,
              }))}
            />
          )
        }
      </Loading>
    </Page>
  );
}

function Board({ charts, withBefore }: { readonly charts: readonly ChartJson[]; readonly withBefore: boolean }) {
  const command = useCommand();
  const range = readRange(queried("range"), now.value);
  const times = range.lastMs === 3_600_000 ? {} : rangeTimes(range);
  return (
    <div class="board">
      {charts.map(({ id = "", name = "", series = [] }) => (
        <Chart
          key={id}
          title={name}
          of={{ chart: id, series }}
          range={range}
          withBefore={withBefore}
          command={command("charts", "evaluate", JSON.stringify({ chart: id, ...times }))}
        />
      ))}
    </div>
  );
}
