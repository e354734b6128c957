import type { DeleteChartResponse } from "../../../gen/svc/v1/metric_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { CHART_FIELDS } from "./chart-view.ts";

export default defineCommand({
  summary: "Delete a chart that is kept with the project",
  description: "Nobody sees it from then on. What it showed stays recorded.",
  examples: ["svc charts delete 'Slow fraud queries'", "svc charts delete Errors --yes"],
  needs: ["session"],
  args: { chart: arg("id or title of the chart") },
  flags: confirmFlags,
  async run(context, { chart, force }) {
    await confirm(context, { force }, `Delete the chart ${chart} for all who see the project?`);
    return (await context.api.metrics()).deleteChart({ id: chart });
  },
  view: resourceFields(({ chart }: DeleteChartResponse) => chart, CHART_FIELDS),
});
