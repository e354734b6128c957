/** The JSON query API of a test's engine, without a server around it. */

import type { QueryRecord } from "../../../../src/server/query-log/recorder.ts";
import type { QueryRunner } from "../../../../src/server/wire/query/endpoint.ts";
import { createBulkQueryHttp, createQueryHttp } from "../../../../src/server/wire/query/query-http.ts";
import type { World } from "../../query/worlds.ts";

/** An endpoint of the API, by the end of its path. */
export type JsonEndpoint = "online" | "bulk";

/** Posts a body to an endpoint. Returns the status and the text of the answer. */
export type PostText = (endpoint: JsonEndpoint, body: string) => Promise<{ readonly status: number; readonly text: string }>;

/** Makes the endpoints. Records of their queries go to `records`. */
export function jsonEndpoints(world: World, records: QueryRecord[] = []): PostText {
  const runner: QueryRunner<null> = {
    engine: world.engine,
    clock: world.clock,
    isTracing: () => true,
    recordSpans: () => undefined,
    keepStages: async () => true,
    resolveDeployment: () => ({ deployment: world.deployment, release: () => {} }),
    recordQuery: (_, record) => void records.push(record),
  };
  const endpoints = { online: createQueryHttp(runner), bulk: createBulkQueryHttp(runner) };
  return async (endpoint, body) => {
    const request = new Request(`http://localhost/v1/query/${endpoint}`, { method: "POST", body });
    const response = await endpoints[endpoint](request, null, () => request.bytes());
    return { status: response.status, text: await response.text() };
  };
}
