/**
 * `POST /mcp`: the Model Context Protocol over HTTP, for programs that no command line starts. Each
 * request is one message, answered as JSON; there are no sessions and no streams. What a tool does
 * is a call of a method of this server with the credentials and the scope of the request, which
 * goes through the router as any other: permissions, bounds, the audit log and counters are those
 * of the method.
 */

import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";
import type { ErrorDetail } from "../../../../gen/svc/v1/error_pb.ts";
import { type Method, messageNamed, methodsOf } from "../../../contract/contract.ts";
import { INSTRUCTIONS, type PlatformApi, platformResources, platformTools } from "../../../contract/platform-tools.ts";
import { SERVICES } from "../../../contract/services.ts";
import { errorMessage, parsed, RPC_CODES, RpcError } from "../../../domain/mcp/json-rpc.ts";
import { answerMessage, headerMismatch } from "../../../domain/mcp/protocol.ts";
import { ToolFailure } from "../../../domain/mcp/tool.ts";
import { authenticate } from "../../access/authorize.ts";
import { Failure } from "../../failure.ts";
import { newId } from "../../identifier.ts";
import type { Connection, FetchHandler } from "../connection.ts";
import type { Platform } from "../platform.ts";
import { readBody } from "./body.ts";
import type { BodyShare } from "./body-budget.ts";
import { RESOURCE_PATH } from "./oauth-metadata.ts";
import { failureResponse, json, jsonError, methodNotAllowed, SAFE_HEADERS } from "./respond.ts";

/** Longest message, in bytes. */
const MAX_BODY_BYTES = 64 * 1024;
/** Longest time of a call that a tool makes. */
const CALL_TIMEOUT_MS = 60_000;
/** Query parameter of the address that offers tools which change something on branches. */
const WRITES = "writes";

/** A message, as it comes in. */
interface Incoming {
  readonly request: Request;
  readonly url: URL;
  readonly connection: Connection;
  readonly share: BodyShare;
  /** Answers another request of the same client. */
  readonly again: FetchHandler;
}

/**
 * Answers a message of the Model Context Protocol.
 * @param pages the guides of the documentation by name
 */
export async function serveMcp(platform: Platform, pages: Readonly<Record<string, string>>, incoming: Incoming): Promise<Response> {
  const { request, url, connection, share } = incoming;
  if (request.method !== "POST") return methodNotAllowed("POST");
  try {
    if (!request.headers.has("authorization"))
      throw new Failure("unauthenticated", "The request has no access token.", {
        hint: "`svc token` prints one; `svc mcp` uses your login.",
      });
    await authenticate(platform.callers, request.headers);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const response = failureResponse(error);
    response.headers.set("www-authenticate", `Bearer resource_metadata="${platform.addressFor(request.headers)}${RESOURCE_PATH}"`);
    return response;
  }
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
  const host = { api: innerApi(incoming), now: () => platform.clock.now(), pages, allowsWrites: given === "true" };
  const offer = {
    version: platform.version,
    instructions: INSTRUCTIONS,
    tools: platformTools(host),
    resources: platformResources(host),
    onFault: (error: unknown) => fault(platform, error),
  };
  const answer = await answerMessage(offer, message, request.signal);
  return answer ? json(answer.message, answer.status) : new Response(null, { status: 202, headers: SAFE_HEADERS });
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
