import type { AggregateBackfillPlan, BackfillAggregatesResponse, PlanAggregateBackfillResponse } from "../../../gen/svc/v1/aggregate_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool, maybe, text, timestamp } from "../../cli/flag.ts";
import { readableName } from "../../domain/name.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { sizeText } from "../../domain/size.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { messageFields, messageTable } from "../../output/message-view.ts";
import { timeText } from "../../output/time.ts";
import { choiceView, type View } from "../../output/view.ts";

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
    resolver: "Resolver",
    from: { header: "From", cell: ({ from }: AggregateBackfillPlan) => (from ? timeText(from) : "the beginning") },
    until: { header: "Until", cell: ({ until }: AggregateBackfillPlan) => timeText(until) },
    buckets: { header: "Buckets", cell: ({ buckets }: AggregateBackfillPlan) => known(buckets) },
    rows: { header: "Rows", cell: ({ rows }: AggregateBackfillPlan) => known(rows) },
    tiles: { header: "Most Tiles", cell: ({ tiles }: AggregateBackfillPlan) => known(tiles) },
    bytes: { header: "Bytes", cell: ({ bytes }: AggregateBackfillPlan) => (bytes === undefined ? "unknown" : sizeText(Number(bytes))) },
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
    storeOnline: maybe("store the tiles; --store-online=false computes them and stores nothing", { defaultText: "true" }),
    dryRun: bool("show what would be done, and do nothing", { aliases: ["--plan"] }),
    exact: bool("with --dry-run: count the rows in their source"),
  },
  check({ dryRun, exact, lowerBound, upperBound }) {
    if (exact && !dryRun) throw new UsageError("--exact needs --dry-run");
    if (lowerBound !== undefined && upperBound !== undefined && lowerBound >= upperBound)
      throw new UsageError("--lower-bound is not before --upper-bound");
  },
  async run({ api }, { dryRun, exact, feature, lowerBound, resolver = "", storeOnline = true, upperBound }): Promise<Answer> {
    const service = await api.aggregates();
    const backfill = {
      ...{ feature, resolver, computeOnly: !storeOnline },
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
