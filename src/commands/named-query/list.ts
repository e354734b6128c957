import type { ListNamedQueriesResponse, NamedQuery } from "../../../gen/svc/v1/graph_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { formatDuration } from "../../domain/duration.ts";
import { readableName } from "../../domain/name.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { sourceException } from "../../output/source-exception.ts";
import { choiceView, tableView, type View } from "../../output/view.ts";
import { type HourlyValues, hoursColumn, recentRequests } from "../../query-client/recent-requests.ts";

const pairs = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");

const stalenessOf = ({ staleness }: NamedQuery) =>
  Object.fromEntries(Object.entries(staleness).map(([name, age]) => [readableName(name), formatDuration(durationToMs(age))]));

/** The named queries of a deployment, and their runs in the hours of the last day, by name. */
interface Listed extends ListNamedQueriesResponse {
  readonly runs: HourlyValues;
}

type Row = readonly [index: number, query: NamedQuery];

export default defineCommand({
  summary: "List named queries",
  description: "A terminal that is wide enough shows how often queries of a name ran, for each hour of the last day.",
  examples: ["svc named-query list", "svc named-query list --json"],
  needs: ["session"],
  async run(context): Promise<Listed> {
    const asked = recentRequests(context, "sum:query.count by {query_name}");
    const answer = await (await context.api.graph()).listNamedQueries({});
    return { ...answer, runs: await asked };
  },
  view: choiceView(queriesView),
});

function queriesView({ namedQueries, runs }: Listed): View<never> {
  const rows = namedQueries.map((query, at): Row => [at + 1, query]);
  return tableView<Listed, Row>({
    things: "named queries",
    rows: () => rows,
    columns: [
      { header: "Index", cell: ([index]) => String(index), align: "right" },
      { header: "Name", cell: ([, { name }]) => name },
      { header: "Version", cell: ([, { version }]) => version },
      { header: "Tags", cell: ([, { tags }]) => tags.join(", ") },
      { header: "Output", cell: ([, { outputs }]) => outputs.map(readableName).join(", ") },
      { header: "Description", cell: ([, { description }]) => description, flexible: true },
      { header: "Staleness", cell: ([, query]) => pairs(stalenessOf(query)) },
      { header: "Planner Options", cell: ([, { plannerOptions }]) => pairs(plannerOptions) },
      ...hoursColumn<Row>("Runs by Hour", runs, rows, ([, { name }]) => name),
    ],
    json: async () => {
      const { messageJson } = await import("../../contract/message-json.ts");
      return { named_queries: namedQueries.map((query) => messageJson(query, { staleness: stalenessOf, span: sourceException })) };
    },
    long: true,
  }) as View<never>;
}
