import type { Instance, ListInstancesResponse } from "../../../gen/svc/v1/usage_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { choice } from "../../cli/flag.ts";
import { sizeText } from "../../domain/size.ts";
import { csvText } from "../../output/csv.ts";
import { messageTable } from "../../output/message-view.ts";
import { timeText } from "../../output/time.ts";
import { choiceView, textView } from "../../output/view.ts";

const TABLE = messageTable<ListInstancesResponse>("instances", {
  host: "Machine",
  processes: { header: "Processes", align: "right" },
  cpuSeconds: { header: "CPU (s)", align: "right", cell: ({ cpuSeconds }) => cpuSeconds.toFixed(2) },
  memoryBytes: { header: "Memory", align: "right", cell: ({ memoryBytes }) => sizeText(Number(memoryBytes)) },
  since: "Since",
});

const cellsOf = ({ cpuSeconds, host, memoryBytes, processes, since }: Instance) => [
  ...[host, processes, cpuSeconds, Number(memoryBytes)],
  timeText(since),
];

const CSV = textView(({ answer: { instances } }: Shown) =>
  csvText(["Machine", "Processes", "CPU (s)", "Memory (bytes)", "Since"], instances.map(cellsOf)),
);

interface Shown {
  readonly format: "pretty" | "csv";
  readonly answer: ListInstancesResponse;
}

export default defineCommand({
  summary: "Show instance usage",
  description: "The machines on which processes of the platform run now, with what those use.",
  examples: ["svc usage instances", { run: "svc usage instances --format csv", does: "For a spreadsheet" }],
  needs: ["session"],
  flags: { format: choice("format", ["pretty", "csv"], { default: "pretty" }) },
  async run({ api, flags }, { format }): Promise<ListInstancesResponse | Shown> {
    const answer = await (await api.usage()).listInstances({});
    return format === "csv" && !flags.json ? { format, answer } : answer;
  },
  view: choiceView((data: ListInstancesResponse | Shown) => ("format" in data ? CSV : TABLE)),
});
