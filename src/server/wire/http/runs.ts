/**
 * Runs of resolvers for thin clients, in the field names of the contract: `POST /v1/runs` and `GET
 * /v1/runs/<id>`.
 */

import { create } from "@bufbuild/protobuf";
import { Permission } from "../../../../gen/svc/v1/options_pb.ts";
import { ResolverRunSchema, type TriggerResolverRequest, TriggerResolverRequestSchema } from "../../../../gen/svc/v1/resolver_run_pb.ts";
import { messageJson } from "../../../contract/message-json.ts";
import { authorize } from "../../access/authorize.ts";
import { resolveScope } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import { Failure } from "../../failure.ts";
import { clipped } from "../../query/refusal.ts";
import type { ResolverRunRecord } from "../../stores/metadata/resolver-runs.ts";
import type { CallNote } from "../call-audit.ts";
import type { Connection } from "../connection.ts";
import type { Platform } from "../platform.ts";
import { runMessage, triggerRun } from "../services/resolver-run.ts";
import { readBody } from "./body.ts";
import type { BodyShare } from "./body-budget.ts";
import { type Fields, flag, instant, isGiven, parsedBody, text, withPlainCounts } from "./json-body.ts";
import { json, methodNotAllowed } from "./respond.ts";

const PREFIX = "/v1/runs/";
const MAX_BODY_BYTES = 16 * 1024;
/** Most characters of a name in a row of the audit log. */
const MAX_TOLD = 200;
const FIELDS: ReadonlySet<string> = new Set([
  ...["resolver", "lower_bound", "upper_bound", "idempotency_key", "persist_online", "persist_offline", "deployment_id"],
]);

/** A request for a run, as it comes in. */
interface Incoming {
  readonly request: Request;
  readonly connection: Connection;
  readonly share: BodyShare;
  readonly note?: CallNote | undefined;
}

/** Answers `POST /v1/runs` with the run that was asked for. */
export async function triggerResolver(platform: Platform, { request, connection, share, note }: Incoming): Promise<Response> {
  if (request.method !== "POST") return methodNotAllowed("POST");
  const caller = (await authorize(platform.callers, request.headers, Permission.DEPLOY)) as Caller;
  const bytes = await readBody(request, MAX_BODY_BYTES, { share, inflates: true });
  connection.unhurried?.();
  const asked = requestOf(parsedBody(bytes, FIELDS));
  if (note) note.about = { resolver: clipped(asked.resolver, MAX_TOLD) };
  const target = await resolveScope(platform.environments, caller, request.headers);
  const run = await triggerRun(platform, target, asked, request.headers);
  if (note) note.about = { id: run.id, resolver: run.resolver, ...(run.deploymentId !== "" && { deployment_id: run.deploymentId }) };
  return json(document(run, platform, request));
}

/** Answers `GET /v1/runs/<id>`. */
export async function serveRun(platform: Platform, request: Request, url: URL): Promise<Response> {
  if (request.method !== "GET") return methodNotAllowed("GET");
  const caller = (await authorize(platform.callers, request.headers, Permission.READ)) as Caller;
  const { environment } = await resolveScope(platform.environments, caller, request.headers);
  const id = url.pathname.slice(PREFIX.length);
  if (id.includes("/")) throw new Failure("not_found", `There is nothing at ${url.pathname}.`);
  const { runs } = await platform.resolverRuns();
  return json(document(await runs.find(id, environment.id), platform, request));
}

/** A run as JSON. */
function document(run: ResolverRunRecord, platform: Platform, { headers }: Request): Fields {
  return withPlainCounts(messageJson(create(ResolverRunSchema, runMessage(run, platform, headers)), { state: { key: "status" } }));
}

/** The request that a body states. Throws Failure invalid_argument. */
function requestOf(body: Fields): TriggerResolverRequest {
  const { lower_bound: lower, upper_bound: upper, persist_online: online, persist_offline: offline } = body;
  return create(TriggerResolverRequestSchema, {
    ...{ resolver: text(body.resolver, "resolver"), idempotencyKey: text(body.idempotency_key, "idempotency_key") },
    deploymentId: text(body.deployment_id, "deployment_id"),
    ...(isGiven(online) && { persistOnline: flag(online, "persist_online") }),
    ...(isGiven(offline) && { persistOffline: flag(offline, "persist_offline") }),
    ...(isGiven(lower) && { lowerBound: instant(lower, "lower_bound") }),
    ...(isGiven(upper) && { upperBound: instant(upper, "upper_bound") }),
  });
}
