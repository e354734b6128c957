/** QueryErrorService: errors of queries and runs, and groups of them. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { ErrorCode } from "../../../../gen/svc/v1/error_pb.ts";
import {
  AggregateQueryErrorsResponseSchema,
  ListQueryErrorsResponseSchema,
  type QueryErrorFilter,
  QueryErrorService,
} from "../../../../gen/svc/v1/query_error_pb.ts";
import { msToTimestamp, timestampToMs } from "../../../domain/proto-time.ts";
import { QUERY_ERROR_FIELDS } from "../../../domain/query-errors.ts";
import { resolveScope } from "../../access/scope.ts";
import { isEqual } from "../../query-log/conditions.ts";
import type { ErrorGroup, ErrorRecord, ErrorSearch } from "../../stores/telemetry/store.ts";
import { checkBounds, searchOf } from "../../written-search.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { placeToken, readPlace, recordsOf } from "./page-token.ts";

/** Adds the service to a router. */
export function register(router: ConnectRouter, { environments, keys, telemetry }: Platform): void {
  /** The errors that a request is about, and what names the list of them. Throws Failure. */
  const filterOf = async (wanted: QueryErrorFilter | undefined, context: HandlerContext) => {
    const { environment } = await resolveScope(environments, callerOf(context), context.requestHeader);
    const { search = "", operationId = "", feature = "", resolver = "", queryName = "", startTime, endTime } = wanted ?? {};
    const filter: ErrorSearch = {
      environmentId: environment.id,
      search: {
        is: "all",
        of: [
          searchOf(search, QUERY_ERROR_FIELDS),
          isEqual("operation_id", operationId),
          isEqual("feature", feature),
          isEqual("resolver", resolver),
          isEqual("query_name", queryName),
        ],
      },
      ...checkBounds({ ...(startTime && { from: timestampToMs(startTime) }), ...(endTime && { before: timestampToMs(endTime) }) }),
    };
    return { filter, listed: JSON.stringify([filter.environmentId, filter.search]) };
  };

  router.service(QueryErrorService, {
    async listQueryErrors({ filter: wanted, pageSize, pageToken: token }, context) {
      const { filter, listed } = await filterOf(wanted, context);
      const list = `errors ${listed}`;
      const before = readPlace(keys.objects, list, token);
      const { records, next } = await (await telemetry()).searchErrors(filter, recordsOf(pageSize), before);
      return create(ListQueryErrorsResponseSchema, {
        errors: records.map(errorMessage),
        nextPageToken: placeToken(keys.objects, list, next),
      });
    },

    async aggregateQueryErrors({ filter: wanted, pageSize, pageToken: token }, context) {
      const { filter, listed } = await filterOf(wanted, context);
      const list = `groups ${listed}`;
      const offset = readPlace(keys.objects, list, token) ?? 0;
      const size = recordsOf(pageSize);
      const groups = await (await telemetry()).groupErrors(filter, size + 1, offset);
      return create(AggregateQueryErrorsResponseSchema, {
        groups: groups.slice(0, size).map(groupMessage),
        nextPageToken: placeToken(keys.objects, list, groups.length > size ? offset + size : undefined),
      });
    },
  });
}

function codeOf(name: string): ErrorCode {
  return ErrorCode[name as keyof typeof ErrorCode] ?? ErrorCode.UNSPECIFIED;
}

function errorMessage({ at, code, environmentId: _, ...error }: ErrorRecord) {
  return { ...error, time: msToTimestamp(at), code: codeOf(code) };
}

function groupMessage({ firstAt, lastAt, code, count, operations, sample, ...group }: ErrorGroup) {
  return {
    pattern: group.pattern,
    code: codeOf(code),
    count: BigInt(count),
    operations: BigInt(operations),
    firstSeenAt: msToTimestamp(firstAt),
    lastSeenAt: msToTimestamp(lastAt),
    resolvers: [...group.resolvers],
    features: [...group.features],
    sample: errorMessage(sample),
  };
}
