import { type ListUsageResponse, type Usage, UsageGrouping, UsagePeriod } from "../../../gen/svc/v1/usage_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool, choice, path, text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { chartText } from "../../output/chart.ts";
import { csvText } from "../../output/csv.ts";
import { messageTable } from "../../output/message-view.ts";
import { choiceView, type Style, textView } from "../../output/view.ts";
import { checkPeriod, periodFields, periodFlags } from "./period-flags.ts";

const DAY_MS = 86_400_000;

/** The columns of CSV, each with its cell. */
const COLUMNS: Readonly<Record<string, (row: Usage) => string | number>> = {
  Date: ({ date }) => date,
  Credits: ({ credits }) => rounded(credits, 4),
  Label: ({ label }) => label,
  "CPU (s)": ({ cpuSeconds }) => rounded(cpuSeconds, 2),
  "Wall (s)": ({ wallSeconds }) => rounded(wallSeconds, 1),
  "Memory (GiB h)": ({ memoryGibHours }) => rounded(memoryGibHours, 4),
  Queries: ({ queries }) => Number(queries),
  "Bulk Queries": ({ bulkQueries }) => Number(bulkQueries),
  Rows: ({ rows }) => Number(rows),
  Errors: ({ errors }) => Number(errors),
  "Storage (GiB h)": ({ storageGibHours }) => rounded(storageGibHours, 6),
};

const csvOf = ({ usage }: ListUsageResponse): string =>
  csvText(
    Object.keys(COLUMNS),
    usage.map((row) => Object.values(COLUMNS).map((cell) => cell(row))),
  );

const number = (header: string, of: (row: Usage) => number | bigint, digits = 0) =>
  ({ header, align: "right", cell: (row: Usage) => String(rounded(Number(of(row)), digits)) }) as const;

const TABLE = messageTable<ListUsageResponse>(
  "usage",
  {
    date: "Date",
    credits: number("Credits", ({ credits }) => credits, 4),
    label: { header: "Label", flexible: true },
    cpuSeconds: number("CPU s", ({ cpuSeconds }) => cpuSeconds, 1),
    memoryGibHours: number("RAM GiB h", ({ memoryGibHours }) => memoryGibHours, 2),
    queries: number("Queries", ({ queries }) => queries),
    storageGibHours: number("Disk GiB h", ({ storageGibHours }) => storageGibHours, 4),
  },
  { things: "usage", before: creditsChart },
);

const CSV = textView((csv: string) => csv.trimEnd());

export default defineCommand({
  summary: "Export usage",
  description:
    "What was used by day (UTC): processor time, running time and memory of the platform's processes, queries with their rows and errors, and stored bytes " +
    "over time, measured every ten minutes. CSV and JSON have all of it. What belongs to no environment, or cannot be told by environment, is the server's. " +
    "Credits are 0 unless server.yaml of the server's data directory states rates under `usage`.",
  examples: [
    "svc usage export",
    { run: "svc usage export --period monthly --out usage.csv", does: "Write a file" },
    { run: "svc usage export --label team --csv", does: "Add up by a label of the environments' configurations" },
  ],
  needs: ["session"],
  flags: {
    groupBy: choice("grouping", ["cluster", "instance"], { aliases: ["--grouping"], defaultText: "cluster" }),
    label: text("group by this label of environments instead", { placeholder: "<key>" }),
    period: choice("period", ["daily", "monthly"], { default: "daily" }),
    ...periodFlags("180 days ago"),
    csv: bool("CSV output"),
    out: path("output file (CSV)", { aliases: ["--output"] }),
  },
  check(input, { flags }) {
    checkPeriod(input);
    if (input.csv && flags.json) throw new UsageError("--csv and --json do not go together");
    if (input.label !== undefined && input.groupBy !== undefined) throw new UsageError("--label and --group-by do not go together");
    if (input.label === "") throw new UsageError("--label is empty", { hint: "Name the key of a label: `--label team`." });
  },
  async run({ api, machine, progress }, { csv, end, groupBy, label = "", out, period, start }): Promise<ListUsageResponse | string> {
    const answer = await (await api.usage()).listUsage({
      grouping: label !== "" ? UsageGrouping.LABEL : groupBy === "instance" ? UsageGrouping.INSTANCE : UsageGrouping.CLUSTER,
      labelKey: label,
      period: period === "monthly" ? UsagePeriod.MONTHLY : UsagePeriod.DAILY,
      ...periodFields({ start, end }),
    });
    if (out !== undefined) {
      await machine.writeFile(out, csvOf(answer));
      progress.note(`Wrote ${out}.`);
    }
    return csv ? csvOf(answer) : answer;
  },
  view: choiceView((data: ListUsageResponse | string) => (typeof data === "string" ? CSV : TABLE)),
});

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** Credits by day or month as bars, on a terminal, where there are some of more than one. */
function creditsChart({ usage }: ListUsageResponse, style: Style): string {
  const credits = new Map<number, number>();
  for (const row of usage) {
    const time = Date.parse(row.date);
    credits.set(time, (credits.get(time) ?? 0) + row.credits);
  }
  const known = [...credits.keys()].sort((one, other) => one - other);
  if (!style.isTTY || known.length < 2 || ![...credits.values()].some((value) => value > 0)) return "";
  const isDaily = usage.every(({ date }) => date.length > "YYYY-MM".length);
  const [first = 0, last = 0] = [known[0], known.at(-1)];
  const times = isDaily ? Array.from({ length: (last - first) / DAY_MS + 1 }, (_, at) => first + at * DAY_MS) : known;
  const series = [{ name: "Credits", values: times.map((time) => credits.get(time) ?? 0) }];
  const title = `Credits by ${isDaily ? "day" : "month"}`;
  return `${style.dim(title)}\n${chartText({ series, times, shape: "bars", format: (value) => String(rounded(value, 4)) }, style)}\n\n`;
}
