/** OfflineQueryService: the values of features for many rows, each as of a time of its own. */

import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  CancelOfflineQueryResponseSchema,
  CreateOfflineQueryUploadResponseSchema,
  ExportOfflineQueryResponseSchema,
  GetOfflineQueryResponseSchema,
  ListOfflineQueriesResponseSchema,
  ListOfflineQueryFilesResponseSchema,
  OfflineQueryFormat,
  type OfflineQueryKeys,
  type OfflineQueryOptions,
  OfflineQueryOptionsSchema,
  type OfflineQuerySchema,
  OfflineQueryService,
  OfflineQuerySplit,
  OfflineQueryStatus,
  RetryOfflineQueryResponseSchema,
  type StartOfflineQueryRequest,
  StartOfflineQueryResponseSchema,
} from "../../../../gen/svc/v1/offline_query_pb.ts";
import { allows } from "../../../domain/permissions.ts";
import { msToTimestamp, timestampToMicros, timestampToMs } from "../../../domain/proto-time.ts";
import { type DeploymentTarget, resolveScope } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import { Failure } from "../../failure.ts";
import type { ExportedTable } from "../../offline-queries/offline-queries.ts";
import type { ChangedQuery, OfflineQueryWish, WishedRows } from "../../offline-queries/wish.ts";
import { askedTrace } from "../../query/job-tracer.ts";
import type { OfflineQueryStanding, OfflineQueryState } from "../../stores/metadata/offline-queries.ts";
import { callerOf } from "../interceptors.ts";
import { pageAddress } from "../page-address.ts";
import type { Platform } from "../platform.ts";
import { readPage } from "./page-token.ts";

const STATUSES = {
  queued: OfflineQueryStatus.QUEUED,
  working: OfflineQueryStatus.WORKING,
  completed: OfflineQueryStatus.COMPLETED,
  failed: OfflineQueryStatus.FAILED,
  canceled: OfflineQueryStatus.CANCELED,
} as const satisfies Readonly<Record<OfflineQueryState, OfflineQueryStatus>>;

const FORMATS = {
  [OfflineQueryFormat.UNSPECIFIED]: undefined,
  [OfflineQueryFormat.PARQUET]: "parquet",
  [OfflineQueryFormat.CSV]: "csv",
  [OfflineQueryFormat.JSON]: "json",
} as const;

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const scopeOf = async (context: HandlerContext): Promise<DeploymentTarget> =>
    resolveScope(platform.environments, callerOf(context), context.requestHeader);

  const shown = (query: OfflineQueryStanding, { requestHeader }: HandlerContext) => queryMessage(query, platform, requestHeader);
  const fileMessage = async ({ name, kind, rows, bytes, sha256, key }: ExportedTable) => ({
    ...{ name, kind, sha256, rows: BigInt(rows), sizeBytes: BigInt(bytes) },
    url: (await platform.objects.sign("get", key, bytes)).url,
  });

  router.service(OfflineQueryService, {
    async startOfflineQuery(request, context) {
      const caller = callerOf(context);
      const target = await scopeOf(context);
      const query = await startQuery(platform, caller, target, request, context.requestHeader);
      return create(StartOfflineQueryResponseSchema, { query: shown(query, context) });
    },

    async createOfflineQueryUpload({ sha256, sizeBytes }, context) {
      const { environment } = await scopeOf(context);
      const { inputs } = await platform.offlineQueries();
      const { uploadId, address } = await inputs.announce(environment.id, sha256, Number(sizeBytes));
      return create(CreateOfflineQueryUploadResponseSchema, { uploadId, url: address.url, expiresAt: msToTimestamp(address.expiresAt) });
    },

    async getOfflineQuery({ id }, context) {
      const { environment } = await scopeOf(context);
      const query = await (await platform.offlineQueries()).find(id, environment.id);
      const traceId = await (await platform.telemetry()).traceIdOf(environment.id, query.id);
      return create(GetOfflineQueryResponseSchema, {
        query: { ...shown(query, context), traceId: traceId ?? "", options: optionsMessage(query) },
      });
    },

    async listOfflineQueries({ pageSize, pageToken, status, since, ...wanted }, context) {
      const { environment } = await scopeOf(context);
      const queries = await platform.offlineQueries();
      const { id, branch, agentId, kind, queryName, queryNameVersion } = wanted;
      const state = stateOf(status);
      const filter = JSON.stringify(["offline-queries", environment.id, id, branch, agentId, kind, queryName, queryNameVersion, status]);
      const page = await readPage(platform.keys.objects, filter, { pageSize, pageToken }, (limit, before) =>
        queries.list({
          environmentId: environment.id,
          ...{ id: id || undefined, branch: branch || undefined, agentId: agentId || undefined, kind: kind || undefined, state },
          ...{ queryName: queryName || undefined, queryNameVersion: queryNameVersion || undefined },
          ...{ since: since && timestampToMs(since), limit, before },
        }),
      );
      return create(ListOfflineQueriesResponseSchema, {
        queries: page.items.map((query) => shown(query, context)),
        nextPageToken: page.nextPageToken,
      });
    },

    async listOfflineQueryFiles({ id }, context) {
      const { environment } = await scopeOf(context);
      const files = await (await platform.offlineQueries()).files(id, environment.id);
      const ordered = [...files].sort((a, b) => orderOf(a).localeCompare(orderOf(b)));
      return create(ListOfflineQueryFilesResponseSchema, {
        files: await Promise.all(ordered.map(fileMessage)),
      });
    },

    async exportOfflineQuery({ id, format }, context) {
      const { environment } = await scopeOf(context);
      const form = FORMATS[format];
      if (form === undefined) throw new Failure("invalid_argument", "The file's format is missing: Parquet, CSV or JSON lines.");
      const file = await (await platform.offlineQueries()).export(id, environment.id, form);
      return create(ExportOfflineQueryResponseSchema, { file: await fileMessage(file) });
    },

    async cancelOfflineQuery({ id }, context) {
      const { environment } = await scopeOf(context);
      const query = await (await platform.offlineQueries()).cancel(id, environment.id);
      return create(CancelOfflineQueryResponseSchema, { query: shown(query, context) });
    },

    async retryOfflineQuery({ id, options, resourceGroup }, context) {
      const caller = callerOf(context);
      const target = await scopeOf(context);
      const queries = await platform.offlineQueries();
      const { request } = await queries.find(id, target.environment.id);
      requireWrites(caller, options ?? request);
      if (options && resourceGroup !== "")
        throw new Failure("invalid_argument", "`options` says all that is asked for; put the resource group there.");
      const changes = options ? changesOf(options) : resourceGroup === "" ? undefined : { resourceGroup };
      return create(RetryOfflineQueryResponseSchema, { query: shown(await queries.retry(id, target, caller.clientId, changes), context) });
    },
  });
}

/** Begins the query of a request. Rejects with Failure. */
export async function startQuery(
  platform: Platform,
  caller: Caller,
  target: DeploymentTarget,
  request: StartOfflineQueryRequest,
  headers: Headers,
): Promise<OfflineQueryStanding> {
  requireWrites(caller, request);
  return (await platform.offlineQueries()).start(target, wishOf(request, caller.clientId, target.deploymentId), askedTrace(headers));
}

/** Throws Failure permission_denied for values that the caller may not store. */
function requireWrites(
  { permissions }: Caller,
  { storeOnline, storeOffline }: { readonly storeOnline: boolean; readonly storeOffline: boolean },
): void {
  if ((storeOnline || storeOffline) && !allows(permissions, "data.write"))
    throw new Failure("permission_denied", "Storing the values of an offline query needs the permission `data.write`.", {
      hint: "Leave `--store-online` and `--store-offline` out, or use other credentials.",
    });
}

function wishOf(request: StartOfflineQueryRequest, agentId: string, deploymentId: string): OfflineQueryWish {
  const times = request.times.map(timestampToMicros);
  const rows = rowsOf(request, times);
  if (rows.from !== "inline" && times.length > 1)
    throw new Failure(
      "invalid_argument",
      "Times of single rows go with rows that come with the call; give one time, or a column of times.",
    );
  return {
    rows,
    time: rows.from === "inline" ? undefined : times[0],
    ...optionsOf(request),
    plannerOptions: request.plannerOptions,
    deploymentId: request.deploymentId || deploymentId,
    ...{ kind: "manual", agentId, queryName: request.queryName, queryNameVersion: request.queryNameVersion },
  };
}

/** What is asked for beside the rows, and the deployment. Throws Failure when it says so twice. */
function optionsOf(request: Omit<OfflineQueryOptions, "$typeName" | "keys" | "deploymentId">) {
  const { recompute, recomputeFeatures } = request;
  if (recompute && recomputeFeatures.length > 0)
    throw new Failure("invalid_argument", "`recompute` is for all outputs, and `recompute_features` for some; give one of them.");
  return {
    ...{ outputs: request.outputs, requiredOutputs: request.requiredOutputs },
    recompute: recompute ? ("all" as const) : recomputeFeatures,
    ...{ asKnown: request.asKnown, includeObservedAt: request.includeObservedAt, numShards: request.numShards || 1 },
    ...{ storeOnline: request.storeOnline, storeOffline: request.storeOffline, tags: request.tags },
    ...{ sampleFraction: request.sampleFraction, testFraction: request.testFraction },
    splitBy: request.splitBy === OfflineQuerySplit.TIME ? ("time" as const) : ("key" as const),
    datasetName: request.datasetName,
    ...(request.resourceGroup !== "" && { resourceGroup: request.resourceGroup }),
  };
}

/** The options of a query that is begun again. */
function changesOf(options: OfflineQueryOptions): ChangedQuery {
  return { ...optionsOf(options), deploymentId: options.deploymentId, keys: options.keys && keysOf(options.keys) };
}

/** The options of a query, as a query is begun again with them. */
function optionsMessage({ datasetName, request }: OfflineQueryStanding): OfflineQueryOptions {
  const { rows, recompute, resourceGroup = "", splitBy, deployment, outputs, requiredOutputs, tags, ...same } = request;
  const { asKnown, includeObservedAt, numShards, storeOnline, storeOffline, sampleFraction, testFraction } = same;
  return create(OfflineQueryOptionsSchema, {
    ...{
      outputs: [...outputs],
      requiredOutputs: [...requiredOutputs],
      tags: [...tags],
      datasetName,
      deploymentId: deployment,
      resourceGroup,
    },
    ...{ asKnown, includeObservedAt, numShards, storeOnline, storeOffline, sampleFraction, testFraction },
    recompute: recompute === "all",
    recomputeFeatures: recompute === "all" ? [] : [...recompute],
    splitBy: splitBy === "time" ? OfflineQuerySplit.TIME : OfflineQuerySplit.KEY,
    ...(rows.from === "keys" && {
      keys: {
        ...(rows.lowerBound !== null && { lowerBound: msToTimestamp(rows.lowerBound) }),
        ...(rows.upperBound !== null && { upperBound: msToTimestamp(rows.upperBound) }),
        maxSamples: BigInt(rows.maxSamples),
      },
    }),
  });
}

/** Where the rows of a request come from. Throws Failure when it says so twice. */
function rowsOf({ inputs, file, spineSql, keys, timeColumn }: StartOfflineQueryRequest, times: readonly bigint[]): WishedRows {
  if ([inputs.length > 0, file !== undefined, spineSql !== "", keys !== undefined].filter(Boolean).length > 1)
    throw new Failure("invalid_argument", "The rows of a query come from one place: inputs, a file, SQL, or known keys.");
  if (timeColumn !== "" && !file && spineSql === "")
    throw new Failure("invalid_argument", "A column of times is one of a file or of SQL; give `times` beside inputs.");
  if (inputs.length > 0) return { from: "inline", columns: inputs, times };
  if (file) {
    const format = FORMATS[file.format];
    if (format === undefined) throw new Failure("invalid_argument", "The file's format is missing: Parquet, CSV or JSON lines.");
    return { from: "file", uploadId: file.uploadId, format, timeColumn };
  }
  if (spineSql !== "") return { from: "sql", statement: spineSql, timeColumn };
  return { from: "keys", ...keysOf(keys) };
}

function keysOf(keys: OfflineQueryKeys | undefined) {
  return {
    lowerBound: keys?.lowerBound && timestampToMs(keys.lowerBound),
    upperBound: keys?.upperBound && timestampToMs(keys.upperBound),
    maxSamples: Number(keys?.maxSamples ?? 0n),
  };
}

/** Files of the table first, each kind in the order of its names. */
function orderOf({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind === "output" ? 0 : 1} ${kind} ${name}`;
}

function stateOf(status: OfflineQueryStatus): OfflineQueryState | undefined {
  return (Object.keys(STATUSES) as OfflineQueryState[]).find((state) => STATUSES[state] === status);
}

/** A query as a message, for a caller with these headers. */
export function queryMessage(
  query: OfflineQueryStanding,
  platform: Pick<Platform, "addressFor" | "headless">,
  headers: Headers,
): MessageInitShape<typeof OfflineQuerySchema> {
  const { request, startedAt, endedAt } = query;
  const { id, kind, queryName, queryNameVersion, branch, agentId, deploymentId, outputs, datasetId, datasetName, revisionId, retryOf } =
    query;
  return {
    ...{ id, kind, queryName, queryNameVersion, branch, agentId, deploymentId, datasetId, datasetName, revisionId, retryOf },
    status: STATUSES[query.state],
    outputs: [...outputs],
    createdAt: msToTimestamp(query.createdAt),
    ...(startedAt !== undefined && { startedAt: msToTimestamp(startedAt) }),
    ...(endedAt !== undefined && { endedAt: msToTimestamp(endedAt) }),
    totalRows: BigInt(query.totalRows ?? 0),
    doneRows: BigInt(query.doneRows),
    rows: BigInt(query.rows),
    failedRows: BigInt(query.failedRows),
    lateValues: BigInt(query.lateValues),
    error: query.error || query.rowError,
    numShards: request.numShards,
    recompute: request.recompute === "all",
    recomputeFeatures: request.recompute === "all" ? [] : [...request.recompute],
    tags: [...request.tags],
    resourceGroup: request.resourceGroup ?? "",
    url: pageAddress(platform, headers, query.environmentId, "run", { id }),
  };
}
