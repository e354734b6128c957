import type { AggregateBackfillPlan, BackfillAggregatesResponse, PlanAggregateBackfillResponse } from "../../../gen/svc/v1/aggregate_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool, list, maybe, text, timestamp } from "../../cli/flag.ts";
import { readableName } from "../../domain/name.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { sizeText } from "../../domain/size.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { messageFields, messageTable } from "../../output/message-view.ts";
import { timeText } from "../../output/time.ts";
import { choiceView, type View } from "../../output/view.ts";
import { statementText } from "../statement-flags.ts";

type Answer = BackfillAggregatesResponse | PlanAggregateBackfillResponse;

const PLANS = messageTable<PlanAggregateBackfillResponse>(
  "plans",
  {
    series: "Series",
    dependentFeatures: {
      header: "Features",
      cell: ({ dependentFeatures }: AggregateBackfillPlan) => dependentFeatures.map(readableName).join(", "),
      flexible: true,
    },
    resolver: { header: "Resolver", cell: ({ resolver }: AggregateBackfillPlan) => resolver || "the statement" },
    from: { header: "From", cell: ({ from }: AggregateBackfillPlan) => (from ? timeText(from) : "the beginning") },
    until: { header: "Until", cell: ({ until }: AggregateBackfillPlan) => timeText(until) },
    buckets: { header: "Buckets", cell: ({ buckets }: AggregateBackfillPlan) => known(buckets) },
    rows: { header: "Rows", cell: ({ rows }: AggregateBackfillPlan) => known(rows) },
    tiles: { header: "Most Tiles", cell: ({ tiles }: AggregateBackfillPlan) => known(tiles) },
    bytes: { header: "Bytes", cell: ({ bytes }: AggregateBackfillPlan) => (bytes === undefined ? "unknown" : sizeText(Number(bytes))) },
    dataset: "Dataset",
  },
  { things: "series" },
);

const BEGUN = messageFields<BackfillAggregatesResponse>({ jobId: "Job", series: "Series", url: "Page" });

export default defineCommand({
  summary: "Backfill a materialized window aggregation",
  description:
    "The server reads the rows of the time from a resolver, aggregates them by bucket, and replaces the tiles of whole buckets: doing it again changes " +
    "nothing. Queries give the same values before, meanwhile and after; they read fewer rows after. The command does not wait: `svc jobs get` shows how " +
    "far the job has got. With --dry-run nothing is done, and the buckets, the rows and the size that are expected are shown.",
  examples: [
    "svc aggregate backfill --feature user.spend",
    { run: "svc aggregate backfill --feature user.spend --dry-run --exact", does: "What it would read and store, with its rows counted" },
    { run: "svc aggregate backfill --feature user --lower-bound 7d", does: "All kept features of a class, from a week ago" },
    {
      run: "svc aggregate backfill --feature user.spend --store-offline --lower-bound 2024-01-01 --upper-bound 2024-02-01",
      does: "The tiles of a month as a dataset, for `svc sql`",
    },
    { run: "svc aggregate backfill --feature user.spend --input-sql @payments.sql", does: "From rows of datasets or of the history" },
  ],
  needs: ["session"],
  flags: {
    feature: text("kept feature; without its window, all its windows; a namespace, all of the class", {
      required: true,
      placeholder: "<feature>",
    }),
    lowerBound: timestamp("first instant; default: as long ago as the windows reach"),
    upperBound: timestamp("instant before which buckets end; default: now"),
    resolver: text("resolver whose rows are read; default: that of the definition, or the one that gives them to queries", {
      placeholder: "<resolver>",
    }),
    inputSql: text("select that gives the rows instead, or @ and a file of it: a column for each feature that is read, by its name", {
      placeholder: "<select>",
    }),
    tag: list(text("tag for choosing the resolver", { placeholder: "<tag>" })),
    storeOffline: bool("publish the tiles as a revision of the dataset `aggregate_series_<series>`; needs both bounds"),
    storeOnline: maybe("store the tiles for queries; --store-online=false without --store-offline computes them and stores nothing", {
      defaultText: "true, without --store-offline",
    }),
    allowEmptyTiles: bool("publish buckets without rows too, of groups that have rows in the time; needs --store-offline"),
    resourceGroup: text("resource group of the environment, whose backfills run one after another; default: wait for no other", {
      placeholder: "<group>",
    }),
    dryRun: bool("show what would be done, and do nothing", { aliases: ["--plan"] }),
    exact: bool("with --dry-run: count the rows in their source"),
  },
  check({ allowEmptyTiles, dryRun, exact, inputSql, lowerBound, resolver, storeOffline, tag, upperBound }) {
    if (exact && !dryRun) throw new UsageError("--exact needs --dry-run");
    if (inputSql !== undefined && (resolver !== undefined || tag.length > 0))
      throw new UsageError(
        `--input-sql and ${resolver === undefined ? "--tag" : "--resolver"} exclude each other: rows come from one place`,
      );
    if (storeOffline && (lowerBound === undefined || upperBound === undefined))
      throw new UsageError("--store-offline needs --lower-bound and --upper-bound");
    if (allowEmptyTiles && !storeOffline) throw new UsageError("--allow-empty-tiles needs --store-offline");
    if (lowerBound !== undefined && upperBound !== undefined && lowerBound >= upperBound)
      throw new UsageError("--lower-bound is not before --upper-bound");
  },
  async run(context, input): Promise<Answer> {
    const { allowEmptyTiles, dryRun, exact, feature, lowerBound, resolver = "", resourceGroup = "", storeOffline, tag, upperBound } = input;
    const { storeOnline = !storeOffline } = input;
    const inputSql = input.inputSql === undefined ? "" : await statementText(context, input.inputSql);
    const service = await context.api.aggregates();
    const backfill = {
      ...{ feature, resolver, computeOnly: !storeOnline, tags: [...tag], inputSql, storeOffline, allowEmptyTiles, resourceGroup },
      ...(lowerBound !== undefined && { lowerBound: msToTimestamp(lowerBound) }),
      ...(upperBound !== undefined && { upperBound: msToTimestamp(upperBound) }),
    };
    return dryRun ? service.planAggregateBackfill({ backfill, exact }) : service.backfillAggregates({ backfill });
  },
  view: choiceView((answer: Answer) => ("plans" in answer ? PLANS : BEGUN) as View<never>),
});

function known(value: bigint | undefined): string {
  return value === undefined ? "unknown" : String(value);
}
