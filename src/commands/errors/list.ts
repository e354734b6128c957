import type { ListQueryErrorsResponse } from "../../../gen/svc/v1/query_error_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { readableName } from "../../domain/name.ts";
import { readAnswer } from "../../log-client/pages.ts";
import { messageTable } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";
import { notePage } from "../page-flags.ts";
import { checkErrorFlags, errorFilter, errorFlags, errorPages } from "./filter-flags.ts";

export default defineCommand({
  summary: "List query errors",
  description:
    "Newest first: errors of online queries, also of refused ones, of runs of resolvers and of offline queries, as long as the query log keeps them. Equal " +
    "errors of one operation are one row, and at most 20 different ones of it are kept; --json has the counts and the stacks.",
  examples: [
    "svc errors list",
    { run: "svc errors list --resolver resolvers.get_name --since 24h", does: "What a resolver failed with since yesterday" },
  ],
  needs: ["session"],
  flags: errorFlags,
  check: checkErrorFlags,
  async run(context, input) {
    const service = await context.api.queryErrors();
    const filter = errorFilter(input);
    const answer = await readAnswer((page) => service.listQueryErrors({ filter, ...page }), "errors", errorPages(input), context.signal);
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListQueryErrorsResponse>(
    "errors",
    {
      time: { header: "Time", cell: ({ time }, style) => age(time, style) },
      operationId: "Operation",
      queryName: "Query",
      resolver: "Resolver",
      feature: { header: "Feature", cell: ({ feature }) => readableName(feature) },
      code: "Code",
      message: { header: "Message", cell: ({ message }) => message.replace(/\s+/g, " "), flexible: true },
    },
    { things: "errors" },
  ),
});
