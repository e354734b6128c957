import type { ListMetaQueriesResponse } from "../../../../gen/svc/v1/query_run_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { bool, text, timestamp } from "../../../cli/flag.ts";
import { msToTimestamp } from "../../../domain/proto-time.ts";
import { UsageError } from "../../../errors/cli-error.ts";
import { messageTable } from "../../../output/message-view.ts";
import { checkPage, notePage, pageFlags } from "../../page-flags.ts";
import { META_COLUMNS } from "../run-view.ts";

export default defineCommand({
  summary: "List meta queries",
  description: "The last observed first: queries of one name and version together, and those of one shape where they have no name.",
  examples: [
    "svc queries meta list",
    { run: "svc queries meta list --start -24h --only-named", does: "Names that were asked for since yesterday" },
  ],
  needs: ["session"],
  flags: {
    name: text("a part of the name, in any case", { placeholder: "<text>" }),
    start: timestamp("only those observed at or after this time", { aliases: ["--start-time"] }),
    end: timestamp("only those observed before this time", { aliases: ["--end-time"] }),
    onlyNamed: bool("only those with a name", { aliases: ["--named"] }),
    ...pageFlags,
    limit: { ...pageFlags.limit, aliases: ["-L", "--page-size", "--max-results"] },
  },
  check(input) {
    checkPage(input);
    const { start, end } = input;
    if (start !== undefined && end !== undefined && start >= end) throw new UsageError("--end is not after --start");
  },
  async run(context, { name = "", start, end, onlyNamed, limit, pageToken = "" }) {
    const answer = await (await context.api.queryRuns()).listMetaQueries({
      namePart: name,
      ...(start !== undefined && { startTime: msToTimestamp(start) }),
      ...(end !== undefined && { endTime: msToTimestamp(end) }),
      ...{ onlyNamed, pageSize: limit, pageToken },
    });
    notePage(context, answer);
    return answer;
  },
  view: messageTable<ListMetaQueriesResponse>("metaQueries", META_COLUMNS, { things: "meta queries" }),
});
