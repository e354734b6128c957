/** AggregateService: aggregates that are kept in tiles. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  type AggregateBackfill,
  type AggregateBackfillPlanSchema,
  type AggregateSeriesSchema,
  AggregateService,
} from "../../../../gen/svc/v1/aggregate_pb.ts";
import type { Expression } from "../../../../gen/svc/v1/graph_pb.ts";
import { microsToDuration, microsToTimestamp, msToTimestamp, timestampToMicros } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import type { BackfillPlan, BackfillWish, SeriesStanding } from "../../aggregates/aggregates.ts";
import { Failure } from "../../failure.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { aggregates, environments } = platform;
  const environmentOf = async (context: HandlerContext): Promise<EnvironmentRecord> => {
    const { environment, branch } = await resolveScope(environments, callerOf(context), context.requestHeader);
    if (branch === "") return environment;
    throw new Failure("invalid_argument", "Branches keep no aggregates: their windows are computed from rows.", {
      hint: "Leave out --branch.",
    });
  };

  router.service(AggregateService, {
    async listAggregates(_request, context) {
      const { list } = await aggregates();
      return { series: (await list(await environmentOf(context))).map(seriesMessage) };
    },

    async planAggregateBackfill({ backfill, exact }, context) {
      const environment = await environmentOf(context);
      return {
        plans: (await (await aggregates()).plan(environment, wishOf(backfill, callerOf(context).clientId), exact)).map(planMessage),
      };
    },

    async backfillAggregates({ backfill }, context) {
      const environment = await environmentOf(context);
      const { jobId, series } = await (await aggregates()).begin(environment, wishOf(backfill, callerOf(context).clientId));
      const url = pageAddress(platform, context.requestHeader, environment.id, "run", { id: jobId });
      return { jobId, series: series.map(BigInt), url };
    },
  });
}

/** Most tags of a backfill. */
const MOST_TAGS = 100;

function wishOf(backfill: AggregateBackfill | undefined, createdBy: string): BackfillWish {
  if (!backfill?.feature)
    throw new Failure("invalid_argument", "Name a feature.", { hint: "`svc aggregate list` shows those that are kept." });
  const { allowEmptyTiles, computeOnly, feature, inputSql, lowerBound, resolver, resourceGroup, storeOffline, tags, upperBound } = backfill;
  if (tags.length > MOST_TAGS) throw new Failure("invalid_argument", `A backfill has at most ${MOST_TAGS} tags.`);
  return {
    ...{ allowEmptyTiles, computeOnly, createdBy, feature, inputSql, resolver, resourceGroup, storeOffline, tags },
    lower: lowerBound && timestampToMicros(lowerBound),
    upper: upperBound && timestampToMicros(upperBound),
  };
}

function seriesMessage({
  id,
  series,
  features,
  retentionMicros,
  measures,
  filled,
  streamedUntil,
  schedule,
}: SeriesStanding): MessageInitShape<typeof AggregateSeriesSchema> {
  const { tiles, groups, bytes } = measures;
  return {
    ...{ series: BigInt(id), namespace: series.namespace, aggregation: series.aggregation, dependentFeatures: [...features] },
    ...{ group: series.group.map((name) => `${series.namespace}.${name}`), aggregated: aggregatedText(series) },
    ...{ bucket: microsToDuration(series.bucketMicros), retention: microsToDuration(retentionMicros), schedule: series.backfillSchedule },
    ...{ tiles: BigInt(tiles), groups: BigInt(groups), bytes: BigInt(bytes) },
    ...(filled?.from !== undefined && { filledFrom: microsToTimestamp(filled.from) }),
    ...(filled && { filledUntil: microsToTimestamp(filled.until) }),
    ...(streamedUntil !== undefined && { streamedUntil: microsToTimestamp(BigInt(streamedUntil)) }),
    ...(schedule?.nextAt !== undefined && { nextBackfillAt: msToTimestamp(schedule.nextAt) }),
  };
}

/** The column of a series in short, and what its rows are aggregated apart by. */
function aggregatedText({ namespace, column, groupBy }: SeriesStanding["series"]): string {
  const groups = groupBy.map((group) => expressionText(namespace, group)).join(", ");
  return [expressionText(namespace, column), groups && `by ${groups}`].filter(Boolean).join(" ");
}

/** An expression in short: a feature, or the outermost function. */
function expressionText(namespace: string, column: Expression | undefined): string {
  switch (column?.node.case) {
    case undefined:
      return "";
    case "feature":
      return `${namespace}.${column.node.value.path.join(".")}`;
    case "call":
      return `${column.node.value.function}(...)`;
    default:
      return "a constant";
  }
}

function planMessage({
  id,
  features,
  resolver,
  dataset,
  span,
  buckets,
  rows,
  tiles,
  bytes,
}: BackfillPlan): MessageInitShape<typeof AggregateBackfillPlanSchema> {
  const number = (value: number | undefined, name: string) => (value === undefined ? {} : { [name]: BigInt(value) });
  return {
    ...{ series: BigInt(id), dependentFeatures: [...features], resolver, dataset, until: microsToTimestamp(span.until) },
    ...(span.from !== undefined && { from: microsToTimestamp(span.from) }),
    ...{ ...number(buckets, "buckets"), ...number(rows, "rows"), ...number(tiles, "tiles"), ...number(bytes, "bytes") },
  };
}
