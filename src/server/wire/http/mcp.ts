/**
 * `/mcp`: the Model Context Protocol over HTTP, for programs that no command line starts. Each POST
 * is one message, answered as JSON, or as a stream where the caller wants to hear of progress or of
 * changes; a GET is the stream of a client that began with a handshake. Nothing is kept of a
 * session but its name, which tells apart what its requests cancel, and what it follows. What a
 * tool does is a call of a method of this server with the credentials and the scope of the request,
 * which goes through the router as any other: permissions, bounds, the audit log and counters are
 * those of the method.
 */

import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";
import type { ErrorDetail } from "../../../../gen/svc/v1/error_pb.ts";
import { type Method, messageNamed, methodsOf } from "../../../contract/contract.ts";
import { PLATFORM_PROMPTS } from "../../../contract/platform-prompts.ts";
import {
  completePlatform,
  INSTRUCTIONS,
  type PlatformApi,
  platformResources,
  platformTools,
  resourceChanges,
} from "../../../contract/platform-tools.ts";
import { SERVICES } from "../../../contract/services.ts";
import { FollowedResources } from "../../../domain/mcp/followed-resources.ts";
import { errorMessage, isFields, parsed, RPC_CODES, RpcError } from "../../../domain/mcp/json-rpc.ts";
import { answerMessage, changeMessage, headerMismatch, type Link, type Offer, wantsStream } from "../../../domain/mcp/protocol.ts";
import { pulse } from "../../../domain/mcp/pulse.ts";
import { ToolFailure } from "../../../domain/mcp/tool.ts";
import { allows } from "../../../domain/permissions.ts";
import { authenticate } from "../../access/authorize.ts";
import { resolveScope } from "../../access/scope.ts";
import type { Caller } from "../../access/tokens.ts";
import { Failure } from "../../failure.ts";
import { newId } from "../../identifier.ts";
import type { Connection, FetchHandler } from "../connection.ts";
import type { Platform } from "../platform.ts";
import { readBody } from "./body.ts";
import type { BodyShare } from "./body-budget.ts";
import { eventStream } from "./event-stream.ts";
import { McpSessions } from "./mcp-sessions.ts";
import { RESOURCE_PATH } from "./oauth-metadata.ts";
import { failureResponse, json, jsonError, methodNotAllowed, SAFE_HEADERS } from "./respond.ts";

/** Longest message, in bytes. */
const MAX_BODY_BYTES = 64 * 1024;
/** Longest time of a call that a tool makes. */
const CALL_TIMEOUT_MS = 60_000;
/** Query parameter of the address that offers tools which change something on branches. */
const WRITES = "writes";
/** Header that names the session of a client that began with a handshake. */
const SESSION = "mcp-session-id";
/** Type of a stream of messages. */
const EVENTS = "text/event-stream";

/** A message, as it comes in. */
interface Incoming {
  readonly request: Request;
  readonly url: URL;
  readonly connection: Connection;
  readonly share: BodyShare;
  /** Answers another request of the same client. */
  readonly again: FetchHandler;
}

/** The answer to a message; never rejects. */
type Answering = (link: Link) => ReturnType<typeof answerMessage>;

/**
 * Makes the endpoint of the Model Context Protocol.
 * @param pages the guides of the documentation by name
 */
export function createMcp(platform: Platform, pages: Readonly<Record<string, string>>): (incoming: Incoming) => Promise<Response> {
  /** Requests under way of clients that began with a handshake, by client, session and id. */
  const running = new Map<string, AbortController>();
  const sessions = new McpSessions();

  const offerOf = (incoming: Incoming, allowsWrites: boolean): Offer => {
    const api = innerApi(incoming);
    const host = { api, now: () => platform.clock.now(), pages, allowsWrites };
    const resources = platformResources(host);
    return {
      version: platform.version,
      instructions: INSTRUCTIONS,
      tools: platformTools(host),
      prompts: PLATFORM_PROMPTS,
      resources,
      complete: (what, begun, signal) => completePlatform(api, what, begun, signal),
      resourceChanges: (followed, signal) =>
        resourceChanges({ api, resources, followed }, deploymentHints(platform, incoming.request.headers, signal), signal),
      onFault: (error: unknown) => fault(platform, error),
    };
  };

  /** Answers a message by a stream: notifications, then the answer. */
  const streamed = (incoming: Incoming, caller: Caller, answering: Answering, isSubscription: boolean): Response => {
    const { request } = incoming;
    const stream = isSubscription ? platform.openStreams.open(caller, request.headers) : undefined;
    return eventStream(request.signal, async ({ offer, send, signal }) => {
      const over = AbortSignal.any(isSubscription ? [signal, platform.stopping, ...(stream ? [stream.signal] : [])] : [signal]);
      try {
        const answer = await answering({ signal: over, notify: offer, pulse });
        if (answer) send(answer.message);
      } finally {
        stream?.close();
      }
    });
  };

  /** What a client is told without having asked, for clients that began with a handshake. */
  const follow = (incoming: Incoming, caller: Caller): Response => {
    const { request } = incoming;
    const stream = platform.openStreams.open(caller, request.headers);
    incoming.share.release();
    incoming.connection.unhurried?.();
    return eventStream(request.signal, async ({ offer, signal }) => {
      const over = AbortSignal.any([signal, platform.stopping, stream.signal]);
      try {
        const followed = sessions.followedBy(caller.clientId, request.headers.get(SESSION)) ?? new FollowedResources();
        for await (const change of offerOf(incoming, false).resourceChanges(followed, over)) offer(changeMessage(change));
      } catch (error) {
        if (!over.aborted && !(error instanceof RpcError)) fault(platform, error);
      } finally {
        stream.close();
      }
    });
  };

  const post = async (incoming: Incoming, caller: Caller): Promise<Response> => {
    const { request, url, connection, share } = incoming;
    if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? ""))
      return jsonError(415, "wrong_content_type", "Send JSON with Content-Type: application/json.");
    const given = url.searchParams.get(WRITES) ?? "false";
    if (given !== "true" && given !== "false") return jsonError(400, "bad_request", `?${WRITES}= takes true or false.`);
    const body = await readBody(request, MAX_BODY_BYTES, { share, inflates: true });
    share.release();
    connection.unhurried?.();
    let message: unknown;
    try {
      message = parsed(new TextDecoder().decode(body));
      const mismatch = headerMismatch(message, (name) => request.headers.get(name));
      if (mismatch) throw mismatch;
    } catch (error) {
      const told = error instanceof RpcError ? error : new RpcError(RPC_CODES.internal, fault(platform, error));
      return json(errorMessage(null, told), 400);
    }
    const fields = isFields(message) ? message : {};
    const keyOf = (id: unknown) => JSON.stringify([caller.clientId, request.headers.get(SESSION), id]);
    if (fields.method === "notifications/cancelled" && isFields(fields.params)) running.get(keyOf(fields.params.requestId))?.abort();
    const key = request.headers.has(SESSION) && fields.id !== undefined ? keyOf(fields.id) : undefined;
    const followed = sessions.followedBy(caller.clientId, request.headers.get(SESSION));
    const abort = new AbortController();
    if (key !== undefined) running.set(key, abort);
    const answering: Answering = async (link) => {
      try {
        const answer = await answerMessage(offerOf(incoming, given === "true"), message, {
          ...link,
          ...(followed && { followed }),
          signal: AbortSignal.any([link.signal, abort.signal]),
        });
        return abort.signal.aborted ? undefined : answer;
      } finally {
        if (key !== undefined && running.get(key) === abort) running.delete(key);
      }
    };
    if (wantsStream(message) && accepts(request, EVENTS))
      return streamed(incoming, caller, answering, fields.method === "subscriptions/listen");
    const answer = await answering({ signal: request.signal });
    if (!answer) return new Response(null, { status: 202, headers: SAFE_HEADERS });
    return json(answer.message, answer.status, fields.method === "initialize" ? { [SESSION]: crypto.randomUUID() } : {});
  };

  return async (incoming) => {
    const { request } = incoming;
    const follows = request.method === "GET" && accepts(request, EVENTS);
    if (request.method !== "POST" && !follows) return methodNotAllowed("POST");
    let caller: Caller;
    try {
      if (!request.headers.has("authorization"))
        throw new Failure("unauthenticated", "The request has no access token.", {
          hint: "`svc token` prints one; `svc mcp` uses your login.",
        });
      caller = await authenticate(platform.callers, request.headers);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      const response = failureResponse(error);
      response.headers.set("www-authenticate", `Bearer resource_metadata="${platform.addressFor(request.headers)}${RESOURCE_PATH}"`);
      return response;
    }
    if (!follows) return post(incoming, caller);
    // To a client that may not read what changes, there is no such stream.
    return allows(caller.permissions, "read") ? follow(incoming, caller) : methodNotAllowed("POST");
  };
}

/** Whether the sender of a request takes a type, by name. */
function accepts({ headers }: Request, type: string): boolean {
  return (headers.get("accept") ?? "")
    .toLowerCase()
    .split(",")
    .some((one) => one.split(";")[0]?.trim() === type);
}

/**
 * A value whenever deployments of the environment of a request may have changed. Throws RpcError.
 */
async function* deploymentHints(platform: Platform, headers: Headers, signal: AbortSignal): AsyncGenerator<undefined, void> {
  const environmentId = await readableEnvironment(platform, headers).catch((error: unknown) => {
    throw error instanceof Failure ? new RpcError(RPC_CODES.internal, error.message) : error;
  });
  const followed = { environmentId, topics: new Set(["deployments"] as const), cursor: "" };
  let isFirst = true;
  for await (const { topics } of platform.recentChanges.follow(followed, signal)) {
    // What changed before the first word came is in no word.
    if (topics.length > 0 || isFirst) yield;
    isFirst = false;
  }
}

/** The environment that the sender of these headers may read. Rejects with Failure. */
async function readableEnvironment(platform: Platform, headers: Headers): Promise<string> {
  const caller = await authenticate(platform.callers, headers);
  if (!allows(caller.permissions, "read")) throw new Failure("permission_denied", "The credentials lack the permission 'read'.");
  return (await resolveScope(platform.environments, caller, headers)).environment.id;
}

/** Notes an error that nobody meant, and returns what the caller is told of it. */
function fault({ clock, log }: Platform, error: unknown): string {
  const id = newId("req", clock.now());
  log.error("unexpected error", { id, path: "/mcp", error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return `The server failed (${id}). Its log has the details.`;
}

/** The server's own services, called on behalf of a request. */
function innerApi(incoming: Incoming): PlatformApi {
  const services = Object.entries(SERVICES).map(([name, { typeName }]) => {
    const client = async () =>
      Object.fromEntries(
        methodsOf(typeName)
          .filter(({ methodKind }) => methodKind === "unary")
          .map((method) => [method.localName, innerCall(incoming, method)]),
      );
    return [name, client];
  });
  return Object.fromEntries(services);
}

function innerCall({ request, connection, again }: Incoming, method: Method) {
  return async (init: MessageInitShape<typeof method.input>, { headers: more, signal = request.signal }: CallOptions = {}) => {
    const body = toBinary(method.input, create(method.input, init)) as Uint8Array<ArrayBuffer>;
    const headers = scopeAndCredentials(request.headers);
    new Headers(more).forEach((value, name) => {
      headers.set(name, value);
    });
    headers.set("content-type", "application/proto");
    headers.set("content-length", String(body.length));
    headers.set("connect-protocol-version", "1");
    headers.set("connect-timeout-ms", String(CALL_TIMEOUT_MS));
    const address = new URL(`/${method.parent.typeName}/${method.name}`, request.url);
    const response = await again(new Request(address, { method: "POST", headers, body, signal }), {
      ...connection,
      unhurried: () => undefined,
    });
    const answer = new Uint8Array(await response.arrayBuffer());
    if (!response.ok) throw refusal(answer);
    return fromBinary(method.output, answer);
  };
}

/** The headers of a request that say who asks, and of which environment. */
function scopeAndCredentials(given: Headers): Headers {
  const headers = new Headers();
  given.forEach((value, name) => {
    if (name === "authorization" || name === "host" || name.startsWith("svc-") || name.startsWith("x-forwarded-")) headers.set(name, value);
  });
  return headers;
}

/** What a method refused, in words for the model. */
function refusal(answer: Uint8Array): ToolFailure {
  const { code, message, details } = JSON.parse(new TextDecoder().decode(answer)) as {
    readonly code?: string;
    readonly message?: string;
    readonly details?: readonly { readonly type?: string; readonly value?: string }[];
  };
  const found = (details ?? [])
    .filter(({ type }) => type === "svc.v1.ErrorDetail")
    .map(({ value = "" }) => fromBinary(messageNamed<ErrorDetail>("svc.v1.ErrorDetail"), Buffer.from(value, "base64")));
  const messages = [...new Set(found.flatMap((one) => one.message || []))];
  return new ToolFailure(messages.join("\n") || message || code || "The call was refused.", found.find(({ hint }) => hint !== "")?.hint);
}
