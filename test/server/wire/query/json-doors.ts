/** The JSON query API of a test's world, without a server around it. */

import type { QueryRecord } from "../../../../src/server/query-log/recorder.ts";
import type { QueryRunner } from "../../../../src/server/wire/query/endpoint.ts";
import { createBulkQueryHttp, createQueryHttp } from "../../../../src/server/wire/query/query-http.ts";
import type { World } from "../../query/worlds.ts";

/** A door of the API, by the end of its path. */
export type JsonDoor = "online" | "bulk";

/** Posts a body to a door. Gives the status and the text of the answer. */
export type PostText = (door: JsonDoor, body: string) => Promise<{ readonly status: number; readonly text: string }>;

/** Opens the doors. Records of what comes through them go to `records`. */
export function jsonDoors(world: World, records: QueryRecord[] = []): PostText {
  const deps: QueryRunner<null> = {
    engine: world.engine,
    clock: world.clock,
    recordSpans: () => undefined,
    keepStages: async () => true,
    resolveDeployment: () => ({ deployment: world.deployment, release: () => {} }),
    recordQuery: (_, record) => void records.push(record),
  };
  const doors = { online: createQueryHttp(deps), bulk: createBulkQueryHttp(deps) };
  return async (door, body) => {
    const request = new Request(`http://localhost/v1/query/${door}`, { method: "POST", body });
    const response = await doors[door](request, null, () => request.bytes());
    return { status: response.status, text: await response.text() };
  };
}
