import type { ListNamedQueriesResponse, NamedQuery } from "../../../gen/svc/v1/graph_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { formatDuration } from "../../domain/duration.ts";
import { readableName } from "../../domain/name.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { sourceException } from "../../output/source-exception.ts";
import { tableView } from "../../output/view.ts";

const pairs = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");

const stalenessOf = ({ staleness }: NamedQuery) =>
  Object.fromEntries(Object.entries(staleness).map(([name, age]) => [readableName(name), formatDuration(durationToMs(age))]));

export default defineCommand({
  summary: "List named queries",
  examples: ["svc named-query list", "svc named-query list --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.graph()).listNamedQueries({}),
  view: tableView<ListNamedQueriesResponse, readonly [index: number, query: NamedQuery]>({
    things: "named queries",
    rows: ({ namedQueries }) => namedQueries.map((query, at) => [at + 1, query] as const),
    columns: [
      { header: "Index", cell: ([index]) => String(index), align: "right" },
      { header: "Name", cell: ([, { name }]) => name },
      { header: "Version", cell: ([, { version }]) => version },
      { header: "Tags", cell: ([, { tags }]) => tags.join(", ") },
      { header: "Output", cell: ([, { outputs }]) => outputs.map(readableName).join(", ") },
      { header: "Description", cell: ([, { description }]) => description, flexible: true },
      { header: "Staleness", cell: ([, query]) => pairs(stalenessOf(query)) },
      { header: "Planner Options", cell: ([, { plannerOptions }]) => pairs(plannerOptions) },
    ],
    json: async ({ namedQueries }) => {
      const { messageJson } = await import("../../contract/message-json.ts");
      return { named_queries: namedQueries.map((query) => messageJson(query, { staleness: stalenessOf, span: sourceException })) };
    },
    long: true,
  }),
});
