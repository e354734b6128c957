import type { AggregateQueryErrorsResponse } from "../../../gen/svc/v1/query_error_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { readAnswer } from "../../log-client/pages.ts";
import { messageTable } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";
import { notePage } from "../page-flags.ts";
import { checkErrorFlags, errorFilter, errorFlags, errorPages } from "./filter-flags.ts";

export default defineCommand({
  summary: "Group errors by similar pattern",
  description:
    "Errors that differ only in numbers, ids, hex and quoted texts are one group, the largest first. --json has the resolvers and features of each, and its " +
    "last error with the stack.",
  examples: ["svc errors aggregate", { run: "svc errors aggregate --since 1h --json", does: "With a stack of each" }],
  needs: ["session"],
  flags: errorFlags,
  check: checkErrorFlags,
  async run(context, input) {
    const service = await context.api.queryErrors();
    const filter = errorFilter(input);
    const answer = await readAnswer(
      (page) => service.aggregateQueryErrors({ filter, ...page }),
      "groups",
      errorPages(input),
      context.signal,
    );
    notePage(context, answer);
    return answer;
  },
  view: messageTable<AggregateQueryErrorsResponse>(
    "groups",
    {
      count: { header: "Count", align: "right" },
      firstSeenAt: { header: "First Seen", cell: ({ firstSeenAt }, style) => age(firstSeenAt, style) },
      lastSeenAt: { header: "Last Seen", cell: ({ lastSeenAt }, style) => age(lastSeenAt, style) },
      pattern: { header: "Message", flexible: true },
    },
    { things: "errors" },
  ),
});
