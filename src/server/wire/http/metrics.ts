/**
 * `GET /metrics`: what this node recorded since its start, for Prometheus and what reads as it
 * does. It needs a token of the whole team, or `--metrics-open` and a client on this machine.
 */

import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { OPEN_METRICS, PROMETHEUS_TEXT } from "../../../domain/openmetrics.ts";
import { authorize, hasCredentials } from "../../access/authorize.ts";
import { requireWholeTeam } from "../../access/scope.ts";
import { metricFamilies } from "../../metrics/exposition.ts";
import type { Connection } from "../connection.ts";
import type { Platform } from "../platform.ts";
import { clientAddress } from "./forwarded.ts";
import { isLoopbackPeer } from "./guard.ts";
import { methodNotAllowed, SAFE_HEADERS } from "./respond.ts";

/** Answers with the text, family after family, so that other requests are served between them. */
export async function serveMetrics(platform: Platform, request: Request, connection: Connection): Promise<Response> {
  const { callers, metadata, metrics } = platform;
  if (!platform.metricsOpen || hasCredentials(request.headers) || !isLocal(platform, request, connection)) {
    const caller = await authorize(callers, request.headers, Permission.READ);
    if (caller) requireWholeTeam(caller, "the server's metrics");
  }
  if (request.method !== "GET") return methodNotAllowed("GET");
  const format = /\bapplication\/openmetrics-text\b/i.test(request.headers.get("accept") ?? "") ? OPEN_METRICS : PROMETHEUS_TEXT;
  const names = new Map((await metadata.environments()).map(({ id, name }) => [id, name]));
  const families = metricFamilies(metrics, (id) => names.get(id) ?? "");
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { value, done } = families.next();
      controller.enqueue(encoder.encode(done ? `${format.end}\n` : format.family(value)));
      if (done) controller.close();
    },
  });
  return new Response(body, { headers: { ...SAFE_HEADERS, "content-type": format.contentType } });
}

/**
 * Whether a request comes from this machine for itself: a proxy that forwards requests of others
 * says so, or keeps the name by which they asked.
 */
function isLocal({ addressFor, url }: Platform, { headers }: Request, { peer }: Connection): boolean {
  return isLoopbackPeer(clientAddress(headers, peer)) && addressFor(headers) === url;
}
