import type { AggregateSeries, ListAggregatesResponse } from "../../../gen/svc/v1/aggregate_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { formatDuration } from "../../domain/duration.ts";
import { readableName } from "../../domain/name.ts";
import { durationToMs } from "../../domain/proto-time.ts";
import { messageTable } from "../../output/message-view.ts";
import { timeText } from "../../output/time.ts";

/** The window `all`, in milliseconds. */
const ALL_MS = 36_500 * 86_400_000;

const length = (ms: number): string => (ms >= ALL_MS ? "all" : formatDuration(ms));

/**
 * Up to when tiles are there: by a backfill, else by a stream, which counts rows as they come. One
 * that was sent to another place of its topic has not told yet.
 */
function filledText({ filledUntil, streamedUntil, tiles }: AggregateSeries): string {
  if (filledUntil) return timeText(filledUntil);
  return streamedUntil ? `${timeText(streamedUntil)} by a stream` : tiles > 0n ? "in part" : "never";
}

export default defineCommand({
  summary: "List aggregate materializations",
  description:
    "The series of tiles of the environment's live deployment. A query merges the tiles of the time that was filled, and reads the rows after it and " +
    "those of the window's edges one by one. `svc aggregate backfill` fills.",
  examples: ["svc aggregate list", { run: "svc aggregate list --json", does: "With sizes and exact times" }],
  needs: ["session"],
  run: async ({ api }) => (await api.aggregates()).listAggregates({}),
  view: messageTable<ListAggregatesResponse>(
    "series",
    {
      series: "Series",
      namespace: "Namespace",
      group: { header: "Group", cell: ({ group }: AggregateSeries) => group.join(", "), flexible: true },
      aggregated: { header: "Agg", cell: ({ aggregated }: AggregateSeries) => aggregated || "rows", flexible: true },
      bucket: { header: "Bucket", cell: ({ bucket }: AggregateSeries) => (bucket ? length(durationToMs(bucket)) : "") },
      retention: { header: "Retention", cell: ({ retention }: AggregateSeries) => (retention ? length(durationToMs(retention)) : "") },
      aggregation: "Aggregation",
      dependentFeatures: {
        header: "Dependent Features",
        cell: ({ dependentFeatures }: AggregateSeries) => dependentFeatures.map(readableName).join(", "),
        flexible: true,
      },
      tiles: "Tiles",
      filledUntil: { header: "Filled Until", cell: filledText },
    },
    { things: "kept aggregates" },
  ),
});
