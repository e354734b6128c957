import { type ListUsageResponse, type Usage, UsageGrouping, UsagePeriod } from "../../../gen/svc/v1/usage_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { choice, path } from "../../cli/flag.ts";
import { csvText } from "../../output/csv.ts";
import { messageTable } from "../../output/message-view.ts";
import { checkPeriod, periodFields, periodFlags } from "./period-flags.ts";

const COLUMNS = ["Date", "Credits", "Label", "CPU (s)", "Wall (s)", "Memory (GiB h)"];

const cellsOf = ({ cpuSeconds, credits, date, label, memoryGibHours, wallSeconds }: Usage) =>
  [date, rounded(credits, 4), label, rounded(cpuSeconds, 2), rounded(wallSeconds, 1), rounded(memoryGibHours, 4)] as const;

export default defineCommand({
  summary: "Export usage",
  description:
    "Processor time, running time and memory of the platform's processes, measured once a minute and added up by day (UTC). Credits are 0 unless server.yaml " +
    "of the server's data directory states rates under `usage`.",
  examples: ["svc usage export", { run: "svc usage export --period monthly --out usage.csv", does: "Write a file" }],
  needs: ["session"],
  flags: {
    groupBy: choice("grouping", ["cluster", "instance"], { aliases: ["--grouping"], default: "cluster" }),
    period: choice("period", ["daily", "monthly"], { default: "daily" }),
    ...periodFlags("180 days ago"),
    out: path("output file (CSV)", { aliases: ["--output"] }),
  },
  check: checkPeriod,
  async run({ api, machine, progress }, { end, groupBy, out, period, start }): Promise<ListUsageResponse> {
    const answer = await (await api.usage()).listUsage({
      grouping: groupBy === "instance" ? UsageGrouping.INSTANCE : UsageGrouping.CLUSTER,
      period: period === "monthly" ? UsagePeriod.MONTHLY : UsagePeriod.DAILY,
      ...periodFields({ start, end }),
    });
    if (out !== undefined) {
      await machine.writeFile(out, csvText(COLUMNS, answer.usage.map(cellsOf)));
      progress.note(`Wrote ${out}.`);
    }
    return answer;
  },
  view: messageTable<ListUsageResponse>(
    "usage",
    {
      date: "Date",
      credits: { header: "Credits", align: "right", cell: (row) => String(cellsOf(row)[1]) },
      label: "Label",
      cpuSeconds: { header: "CPU (s)", align: "right", cell: (row) => String(cellsOf(row)[3]) },
      wallSeconds: { header: "Wall (s)", align: "right", cell: (row) => String(cellsOf(row)[4]) },
      memoryGibHours: { header: "Memory (GiB h)", align: "right", cell: (row) => String(cellsOf(row)[5]) },
    },
    { things: "usage" },
  ),
});

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
