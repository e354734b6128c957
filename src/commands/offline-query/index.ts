import { type OfflineQuery, OfflineQueryStatus } from "../../../gen/svc/v1/offline_query_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { CliError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { followQuery, saveTable } from "../../query-client/offline/follow-query.ts";
import { formatOf } from "../../query-client/offline/rows-file.ts";
import { checkOfflineQueryFlags, offlineQueryFlags, offlineQueryRequest } from "./query-flags.ts";
import { QUERY_FIELDS } from "./query-view.ts";

export default defineCommand({
  summary: "Query features for many rows, each as of a time of its own",
  category: "Query and explore",
  aliases: ["offline-queries"],
  description:
    "Each row has keys and a time, and gets the values that were true then: those that the history has, and expressions over them. --recompute has resolvers " +
    "compute them, with the row's time as the present. No value is ever from later than the row's time. Without rows they are those of the class that the " +
    "history knows.\n\n" +
    "The answer is a revision of a dataset, in Parquet: the columns of the rows, the outputs as they were asked for, `__ts__` (the row's time), " +
    "`__observed_at__` (the newest observation that the row has) and, with --test-fraction, `__split__`. Without --await the command prints the query, " +
    "which the server goes on with.",
  examples: [
    { run: "svc offline-query --in user.id=1,2,3 --out user.score --await", does: "Values of three users as of now" },
    {
      run: "svc offline-query --input labels.parquet --out user.score,user.account.balance --output-file train.parquet",
      does: "A training set: keys and times from a file",
    },
    {
      run: "svc offline-query --out user.score --max-samples 1000 --recompute --test-fraction 0.2",
      does: "Rows that are known, computed anew",
    },
  ],
  needs: ["session"],
  flags: offlineQueryFlags,
  check: checkOfflineQueryFlags,
  async run(context, flags): Promise<OfflineQuery> {
    const service = await context.api.offlineQueries();
    const { query } = await service.startOfflineQuery(await offlineQueryRequest(context, flags));
    if (!query) throw new CliError("The server began no query", { code: "broken_answer" });
    const { outputFile } = flags;
    if (!flags.await && outputFile === undefined) return query;
    const ended = await followQuery(context, query);
    if (ended.status !== OfflineQueryStatus.COMPLETED) throw failure(ended);
    if (outputFile !== undefined) await saveTable(context, ended.id, outputFile, formatOf(outputFile, "--output-file"));
    return ended;
  },
  view: resourceFields((query: OfflineQuery) => query, QUERY_FIELDS),
});

function failure({ id, status, error }: OfflineQuery): CliError {
  if (status === OfflineQueryStatus.CANCELED) return new CliError(`Offline query ${id} was cancelled`, { code: "query_canceled" });
  return new CliError(`Offline query ${id} failed: ${error}`, {
    code: "query_failed",
    hint: `\`svc offline-query retry ${id}\` runs it again.`,
  });
}
