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
  { things: "usage", before: usageChart },
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

/** What a chart can be of: the first of which there is some. */
const CHARTED: readonly { readonly name: string; readonly of: (row: Usage) => number; readonly digits: number }[] = [
  { name: "Credits", of: ({ credits }) => credits, digits: 4 },
  { name: "CPU seconds", of: ({ cpuSeconds }) => cpuSeconds, digits: 1 },
];

/**
 * Credits by day or month as bars, or CPU time where there are none: on a terminal, of more than
 * one day or month.
 */
function usageChart({ usage }: ListUsageResponse, style: Style): string {
  const known = [...new Set(usage.map(timeOf))].sort((one, other) => one - other);
  const charted = CHARTED.find(({ of }) => usage.some((row) => of(row) > 0));
  if (!style.isTTY || known.length < 2 || !charted) return "";
  const { digits, name, of } = charted;
  const isDaily = usage.every(({ date }) => date.length > "YYYY-MM".length);
  const [first = 0, last = 0] = [known[0], known.at(-1)];
  const times = isDaily ? Array.from({ length: (last - first) / DAY_MS + 1 }, (_, at) => first + at * DAY_MS) : known;
  const sums = new Map<number, number>();
  for (const row of usage) sums.set(timeOf(row), (sums.get(timeOf(row)) ?? 0) + of(row));
  const series = [{ name, values: times.map((time) => sums.get(time) ?? 0) }];
  const title = `${name} by ${isDaily ? "day" : "month"}`;
  return `${style.dim(title)}\n${chartText({ series, times, shape: "bars", format: (value) => String(rounded(value, digits)) }, style)}\n\n`;
}

function timeOf({ date }: Usage): number {
  return Date.parse(date);
}
