/** QueryRunService: query runs, meta queries and plans. */

import { create } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import {
  GetMetaQueryResponseSchema,
  GetQueryPlanResponseSchema,
  GetQueryRunResponseSchema,
  ListAdhocQueriesResponseSchema,
  ListMetaQueriesResponseSchema,
  type ListQueryRunsRequest,
  ListQueryRunsResponseSchema,
  QueryRunKind,
  QueryRunService,
  QueryRunStatus,
} from "../../../../gen/svc/v1/query_run_pb.ts";
import { durationToMs, msToDuration, msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { QUERY_RUN_FIELDS } from "../../../domain/query-runs.ts";
import type { Search } from "../../../domain/search/tree.ts";
import { resolveScope } from "../../access/scope.ts";
import { Failure } from "../../failure.ts";
import type { DescribedPlan } from "../../query/answer/plan-description.ts";
import { hasPart, isEqual } from "../../query-log/conditions.ts";
import type { EnvironmentRecord } from "../../stores/metadata/identity.ts";
import { metaIdOf } from "../../stores/telemetry/meta-query-table.ts";
import type {
  MetaQuery,
  MetaQueryFilter,
  PlanRecord,
  QueryLogSummary,
  QuerySearch,
  RecordedBounds,
  QueryRunKind as RecordedKind,
} from "../../stores/telemetry/store.ts";
import { checkBounds, searchOf } from "../../written-search.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { readQueryRun } from "../query/logged-run.ts";
import { placeToken, readPage, readPlace, recordsOf } from "./page-token.ts";

/** How far a run may be from the time that was given with its id, milliseconds. */
const APPROXIMATE_MS = 86_400_000;

const KINDS: Readonly<Record<RecordedKind, QueryRunKind>> = {
  "": QueryRunKind.UNSPECIFIED,
  online: QueryRunKind.ONLINE,
  bulk: QueryRunKind.BULK,
};

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { environments, keys } = platform;

  const environmentOf = async (context: HandlerContext): Promise<EnvironmentRecord> =>
    (await resolveScope(environments, callerOf(context), context.requestHeader)).environment;

  const metaPage = async (
    filter: MetaQueryFilter,
    request: { readonly pageSize: number; readonly pageToken: string },
  ): Promise<{ readonly items: readonly MetaQuery[]; readonly nextPageToken: string }> => {
    const { from: _from, before: _before, ...listed } = filter;
    const telemetry = await platform.telemetry();
    const { items, nextPageToken } = await readPage(keys.objects, JSON.stringify(["meta", listed]), request, async (limit, after) => {
      const [lastAt = "", id = ""] = after?.split("/") ?? [];
      const found = await telemetry.metaQueries(filter, limit, after === undefined ? undefined : { lastAt: Number(lastAt), id });
      return found.map((query) => ({ id: `${query.lastAt}/${query.id}`, query }));
    });
    return { items: items.map(({ query }) => query), nextPageToken };
  };

  router.service(QueryRunService, {
    async listQueryRuns(request, context) {
      const { id } = await environmentOf(context);
      const filter = filterOf(request, id);
      const { from: _from, before: _before, ...listed } = filter;
      const list = JSON.stringify(["query runs", listed]);
      const before = readPlace(keys.objects, list, request.pageToken);
      const size = recordsOf(request.pageSize);
      const { records, next } = await (await platform.telemetry()).searchQueries(filter, size, before);
      return create(ListQueryRunsResponseSchema, {
        queries: records.map(runMessage),
        nextPageToken: placeToken(keys.objects, list, next),
      });
    },

    async getQueryRun({ id, approximateTime }, context) {
      const environment = await environmentOf(context);
      const telemetry = await platform.telemetry();
      const run = id === "" ? undefined : await telemetry.query(id);
      const isOther = run?.environmentId !== environment.id;
      if (!run || isOther)
        throw new Failure("not_found", `There is no query run '${id}'.`, {
          hint: "`svc queries list` has the runs that are kept; `--id` finds them by a part of their id.",
        });
      const near = approximateTime && timestampToMs(approximateTime);
      if (near !== undefined && Math.abs(run.startedAt - near) > APPROXIMATE_MS)
        throw new Failure(
          "not_found",
          `The query run '${id}' is not of that time: it arrived at ${new Date(run.startedAt).toISOString()}.`,
        );
      const { request, response } = readQueryRun(run);
      return create(GetQueryRunResponseSchema, {
        query: runMessage({ ...run, metaId: metaIdOf(run), isRefused: run.error !== undefined }),
        request,
        ...(response && { response }),
        error: run.error ?? "",
        url: pageAddress(platform, context.requestHeader, environment.id, "queryRun", { id }),
      });
    },

    async listMetaQueries({ namePart, onlyNamed, ...request }, context) {
      const { id } = await environmentOf(context);
      const which = onlyNamed ? "named" : "all";
      const { items, nextPageToken } = await metaPage({ environmentId: id, which, namePart, name: "", ...boundsOf(request) }, request);
      return create(ListMetaQueriesResponseSchema, { metaQueries: items.map(metaMessage), nextPageToken });
    },

    async listAdhocQueries({ queryName, ...request }, context) {
      const { id } = await environmentOf(context);
      const { items, nextPageToken } = await metaPage({ environmentId: id, which: "ad_hoc", namePart: "", name: queryName }, request);
      return create(ListAdhocQueriesResponseSchema, { adhocQueries: items.map(metaMessage), nextPageToken });
    },

    async getMetaQuery({ id }, context) {
      const found = await (await platform.telemetry()).metaQuery((await environmentOf(context)).id, id);
      if (!found)
        throw new Failure("not_found", `There is no meta query '${id}'.`, { hint: "`svc queries meta list` has those that are known." });
      const { p50, p95, p99, max, runs } = found.latencies;
      return create(GetMetaQueryResponseSchema, {
        metaQuery: metaMessage(found.query),
        latencies: { runs, p50: msToDuration(p50), p95: msToDuration(p95), p99: msToDuration(p99), max: msToDuration(max) },
      });
    },

    async getQueryPlan({ id }, context) {
      const plan = await (await platform.telemetry()).plan((await environmentOf(context)).id, id);
      if (!plan)
        throw new Failure("not_found", `There is no query plan '${id}'.`, {
          hint: "A plan has the id that `svc queries get` shows of its runs, and is kept as long as they are.",
        });
      return create(GetQueryPlanResponseSchema, { queryPlan: planMessage(plan) });
    },
  });
}

/** The queries that a request is about. Throws Failure. */
function filterOf(request: ListQueryRunsRequest, environmentId: string): QuerySearch {
  const all: Search[] = [
    searchOf(request.search, QUERY_RUN_FIELDS),
    isEqual("query_plan_id", request.queryPlanId),
    isEqual("meta_query_id", request.metaQueryId),
    isEqual("query_name", request.queryName),
    isEqual("branch", request.branch),
    isEqual("agent", request.agentId),
    hasPart("id", request.idPart),
  ];
  if (request.minLatency) all.push({ is: "number", field: "duration", operator: ">", value: durationToMs(request.minLatency) });
  if (request.errorsOnly) all.push({ is: "number", field: "errors", operator: ">", value: 0 });
  return {
    environmentId,
    search: { is: "all", of: all },
    ...(request.primaryKey !== "" && { primaryKey: request.primaryKey }),
    ...boundsOf(request),
  };
}

function boundsOf({ startTime, endTime }: { startTime?: Timestamp | undefined; endTime?: Timestamp | undefined }): RecordedBounds {
  return checkBounds({ ...(startTime && { from: timestampToMs(startTime) }), ...(endTime && { before: timestampToMs(endTime) }) });
}

function statusOf({ errorCount, isRefused }: QueryLogSummary): QueryRunStatus {
  if (isRefused) return QueryRunStatus.FAILED;
  return errorCount === 0 ? QueryRunStatus.OK : QueryRunStatus.PARTIAL;
}

function runMessage(run: QueryLogSummary) {
  return {
    id: run.queryId,
    queryName: run.queryName,
    queryVersion: run.queryVersion,
    isNamed: run.isNamed,
    kind: KINDS[run.kind],
    status: statusOf(run),
    deploymentId: run.deploymentId,
    branch: run.branch,
    createdAt: msToTimestamp(run.startedAt),
    latency: msToDuration(run.durationMs),
    errorCount: run.errorCount,
    errorCodes: run.errorCodes.split(" ").flatMap((name) => ErrorCode[name as keyof typeof ErrorCode] ?? []),
    rows: run.rows,
    ...(run.hitShare !== null && { hitShare: run.hitShare }),
    queryPlanId: run.planHash,
    metaQueryId: run.metaId,
    agentId: run.agentId,
    rootNamespace: run.rootNamespace,
    primaryKey: run.primaryKey,
    correlationId: run.correlationId,
    traceId: run.traceId,
  };
}

function metaMessage({ firstAt, lastAt, runs, failed, planHash, outputs, ...query }: MetaQuery) {
  return {
    ...query,
    queryPlanId: planHash,
    outputs: [...outputs],
    firstObservedAt: msToTimestamp(firstAt),
    lastObservedAt: msToTimestamp(lastAt),
    runs: BigInt(runs),
    failedRuns: BigInt(failed),
  };
}

function planMessage({ hash, deploymentId, firstAt, rootNamespace, outputs, plan }: PlanRecord) {
  const { explain = "", steps = [] } = JSON.parse(plan) as Partial<DescribedPlan>;
  return {
    id: hash,
    deploymentId,
    firstSeenAt: msToTimestamp(firstAt),
    rootNamespace,
    outputs: [...outputs],
    explain,
    steps: steps.map((step) => ({ ...step, inputs: [...step.inputs], outputs: [...step.outputs] })),
  };
}
