import type { CompareEvaluationRunsResponse, RowComparison } from "../../../gen/svc/v1/evaluation_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, int } from "../../cli/flag.ts";
import { escapeControls } from "../../domain/name.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { tableView } from "../../output/view.ts";
import { scoreText } from "./eval-view.ts";

const MAX_ROWS = 500;

export default defineCommand({
  summary: "Compare two runs of an evaluation",
  description:
    "Shows how many rows scored higher and lower in the second run, the average difference by scorer, and the rows that differ most. Rows are the same by " +
    "the evaluation's key, or of one revision by their number.",
  examples: ["svc eval compare evr_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e evr_0198c0de9a7b3c8d4f5e0f1a2b3c4d5e"],
  needs: ["session"],
  args: { base: arg("id of the run to compare with"), other: arg("id of the other run") },
  flags: { limit: int(`rows at most, 1 to ${MAX_ROWS}`, { default: 20, aliases: ["-L"] }) },
  check({ limit }) {
    if (limit < 1 || limit > MAX_ROWS) throw new UsageError(`--limit takes 1 to ${MAX_ROWS}`);
  },
  async run({ api, flags, progress }, { base, other, limit }) {
    const answer = await (await api.evaluations()).compareEvaluationRuns({ baseId: base, otherId: other, limit });
    if (!flags.json) for (const line of summaryOf(answer)) progress.note(line);
    return answer;
  },
  view: tableView<CompareEvaluationRunsResponse, RowComparison>({
    things: "differing rows",
    rows: ({ rows }) => rows,
    columns: [
      { header: "Row", cell: ({ key }) => key },
      { header: "Scorer", cell: ({ scorer }) => scorer },
      { header: "Base", align: "right", cell: ({ base }) => scoreText(base) },
      { header: "Other", align: "right", cell: ({ other }) => scoreText(other) },
      { header: "Base Output", flexible: true, dispensable: true, cell: ({ baseOutput }) => baseOutput },
      { header: "Other Output", flexible: true, dispensable: true, cell: ({ otherOutput }) => otherOutput },
    ],
    json: async (answer) => (await import("../../contract/message-json.ts")).messageJson(answer),
  }),
});

/** What the rows below are of, a line for each scorer. */
function summaryOf({ rowsInBoth, scorers, truncated, base, other }: CompareEvaluationRunsResponse): string[] {
  const revisions = base?.revisionId === other?.revisionId ? "" : ` of ${base?.revisionId} and ${other?.revisionId}`;
  return [
    `${rowsInBoth} rows are in both runs${revisions}.`,
    ...scorers.map(({ scorer, higher, lower, meanDifference }) => {
      const average =
        meanDifference === undefined ? "no scores in both" : `${meanDifference > 0 ? "+" : ""}${scoreText(meanDifference)} on average`;
      return `${escapeControls(scorer)}: ${average}, ${higher} higher, ${lower} lower`;
    }),
    ...(truncated ? ["More rows differ: --limit shows more."] : []),
  ];
}
