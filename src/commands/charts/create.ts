import type { CreateChartResponse } from "../../../gen/svc/v1/metric_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { duration, list, text } from "../../cli/flag.ts";
import { msToDuration } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { readArgumentValue } from "../document-flags.ts";
import { configMessage, readDescription, readExpressions } from "./chart-flags.ts";
import { CHART_FIELDS } from "./chart-view.ts";

export default defineCommand({
  summary: "Keep a chart with the project",
  description:
    "All who see the project's environments have it: in `svc charts list`, and among the charts of the dashboard's page Metrics. It shows metric expressions as " +
    "`svc metrics query` takes them, each with a name in the legend if one is given, or what a request of `svc charts evaluate` describes. A project has at most 100.",
  examples: [
    { run: "svc charts create --name 'Slow fraud queries' --expression 'p99:query.latency{query_name:fraud}'", does: "One expression" },
    {
      run: "svc charts create --name Errors --expression failed=sum:query.errors --expression all=sum:query.count --range 7d",
      does: "Two, of a week",
    },
    { run: "svc charts create --name Described --config @request.json", does: "As a request describes it" },
  ],
  needs: ["session"],
  flags: {
    name: text("title, unique among the charts of the project", { required: true }),
    expression: list(text("a metric expression, or NAME=EXPRESSION", { placeholder: "<expr>" })),
    config: text("what describes the chart, as JSON; @ and a file of it, or - for stdin", { placeholder: "<json>" }),
    range: duration("how much time it shows when nobody says", { defaultText: "1h" }),
  },
  check({ config, expression }) {
    if ((expression.length === 0) === (config === undefined))
      throw new UsageError(config === undefined ? "nothing says what the chart shows" : "--expression and --config do not go together", {
        hint: "Give --expression 'sum:query.count', or --config.",
      });
    readExpressions(expression);
  },
  async run(context, { config, expression, name, range }) {
    const described =
      config === undefined
        ? { series: readExpressions(expression) }
        : { metricConfig: configMessage(readDescription(await readArgumentValue(context, config))) };
    const lasting = range === undefined ? {} : { range: msToDuration(range) };
    return (await context.api.metrics()).createChart({ name, ...described, ...lasting });
  },
  view: resourceFields(({ chart }: CreateChartResponse) => chart, CHART_FIELDS),
});
