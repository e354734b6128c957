/**
 * `GET /health/ready`: 200 when this node should be sent requests, else 503. Anyone gets the state;
 * callers with the permission to read also get the reasons.
 */

import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { authorize, hasCredentials } from "../../access/authorize.ts";
import type { Platform } from "../platform.ts";
import { json, methodNotAllowed } from "./respond.ts";

/**
 * Answers with the node's readiness. Throws Failure for credentials that are wrong or lack the
 * permission to read.
 */
export async function serveReadiness({ callers, readiness }: Platform, { method, headers }: Request): Promise<Response> {
  if (method !== "GET" && method !== "HEAD") return methodNotAllowed("GET");
  const maySeeReasons = hasCredentials(headers) && (await authorize(callers, headers, Permission.READ)) !== undefined;
  const { state, reasons } = await readiness.report();
  const isReady = state === "ready";
  return json({ status: state, ...(maySeeReasons ? { reasons } : {}) }, isReady ? 200 : 503, isReady ? {} : { "retry-after": "1" });
}
