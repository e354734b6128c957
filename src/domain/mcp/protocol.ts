/**
 * The Model Context Protocol, as a server without sessions speaks it: each request is answered by
 * itself, whatever came before. It takes the revision 2026-07-28, whose requests carry their
 * version, and those before it, which begin with `initialize`. The few methods need no library; the
 * official client is in the tests.
 */

import { didYouMean } from "../closest.ts";
import {
  errorMessage,
  type Fields,
  type Incoming,
  incoming,
  isFields,
  RPC_CODES,
  RpcError,
  type RpcId,
  resultMessage,
} from "./json-rpc.ts";
import { ArgumentRefused, readArguments, schemaOf } from "./parameter.ts";
import type { Resources } from "./resource.ts";
import { type AnyTool, answerText, ToolFailure } from "./tool.ts";

/** The revision whose requests stand alone. */
export const STATELESS_REVISION = "2026-07-28";
/** Revisions that begin with a handshake, newest first. */
export const HANDSHAKE_REVISIONS: readonly string[] = ["2025-11-25", "2025-06-18", "2025-03-26"];

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities";
const SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo";

/** What a server offers. */
export interface Offer {
  /** Version of the program, for example `v0.1.0`. */
  readonly version: string;
  /** For the model: what the server is, and how to use it. */
  readonly instructions: string;
  readonly tools: readonly AnyTool[];
  readonly resources: Resources;
  /** Told of errors that are faults of ours; returns what the caller is told. */
  readonly onFault: (error: unknown) => string;
}

/** An answer. */
export interface Answer {
  readonly message: Fields;
  /** The status with which HTTP carries it. */
  readonly status: 200 | 400 | 404;
}

/**
 * The answer to a message; undefined for one that has none, a notification. Never rejects.
 */
export async function answerMessage(offer: Offer, value: unknown, signal: AbortSignal): Promise<Answer | undefined> {
  let message: Incoming;
  try {
    message = incoming(value);
  } catch (error) {
    return refusal(null, error, offer);
  }
  if (message.kind !== "request") return undefined;
  const { id, method, params } = message;
  let isStateless = false;
  try {
    const revision = statedRevision(params);
    isStateless = revision !== undefined;
    if (revision !== undefined) checkEnvelope(params, revision);
    const result = await resultOf(offer, method, params, isStateless, signal);
    return { message: resultMessage(id, isStateless ? completed(offer, method, result) : result), status: 200 };
  } catch (error) {
    return refusal(id, error, offer, isStateless);
  }
}

/**
 * The revision that a request itself states; undefined for the revisions that begin with a
 * handshake.
 */
export function statedRevision(params: Fields): string | undefined {
  const meta = params._meta;
  const version = isFields(meta) ? meta[VERSION_KEY] : undefined;
  return typeof version === "string" ? version : undefined;
}

/**
 * What is wrong with the headers of a request over HTTP, which repeat parts of its body so that
 * those who pass it on need not read it; undefined when nothing is.
 */
export function headerMismatch(value: unknown, header: (name: string) => string | null): RpcError | undefined {
  const stated = header("mcp-protocol-version");
  const params = isFields(value) && isFields(value.params) ? value.params : {};
  const revision = statedRevision(params);
  if (revision === undefined) {
    if (stated === null || HANDSHAKE_REVISIONS.includes(stated)) return undefined;
    if (stated === STATELESS_REVISION && isFields(value) && value.id === undefined) return undefined;
    return stated === STATELESS_REVISION ? missingEnvelope(VERSION_KEY) : unsupported(stated);
  }
  if (!isFields(value) || value.id === undefined) return undefined;
  const named = value.method === "tools/call" ? params.name : value.method === "resources/read" ? params.uri : undefined;
  for (const [name, wanted] of [
    ["mcp-protocol-version", revision],
    ["mcp-method", value.method],
    ["mcp-name", named],
  ] as const) {
    if (typeof wanted === "string" && decodedHeader(header(name)) !== wanted)
      return new RpcError(RPC_CODES.headerMismatch, `The header ${name} does not say what the body says.`, undefined, true);
  }
  return undefined;
}

/** A value of a header; one that no header can hold comes as `=?base64?...?=`. */
function decodedHeader(value: string | null): string | undefined {
  const encoded = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(value ?? "")?.[1];
  if (encoded === undefined) return value ?? undefined;
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

function checkEnvelope(params: Fields, revision: string): void {
  if (revision !== STATELESS_REVISION) throw unsupported(revision);
  if (!isFields((params._meta as Fields)[CAPABILITIES_KEY])) throw missingEnvelope(CAPABILITIES_KEY);
}

function missingEnvelope(key: string): RpcError {
  return new RpcError(RPC_CODES.invalidParams, `The request lacks ${key} in its _meta.`, undefined, true);
}

function unsupported(requested: string): RpcError {
  const supported = [STATELESS_REVISION, ...HANDSHAKE_REVISIONS];
  return new RpcError(
    RPC_CODES.unsupportedVersion,
    `This server speaks the revisions ${supported.join(", ")}.`,
    { supported, requested: requested.slice(0, 100) },
    true,
  );
}

function refusal(id: RpcId | null, error: unknown, offer: Offer, isStateless = false): Answer {
  const told = error instanceof RpcError ? error : new RpcError(RPC_CODES.internal, offer.onFault(error));
  const isUnknown = isStateless && told.code === RPC_CODES.methodNotFound;
  return { message: errorMessage(id, told), status: told.isMalformed ? 400 : isUnknown ? 404 : 200 };
}

/** Methods whose results say how long they hold. */
const CACHEABLE: ReadonlySet<string> = new Set([
  ...["server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read"],
]);

/** A result with what the stateless revision adds: it is whole, of whom, and not to be kept. */
function completed(offer: Offer, method: string, result: Fields): Fields {
  return {
    ...result,
    resultType: "complete",
    _meta: { [SERVER_INFO_KEY]: serverInfo(offer) },
    ...(CACHEABLE.has(method) ? { ttlMs: 0, cacheScope: "private" } : {}),
  };
}

function serverInfo({ version }: Offer): Fields {
  return { name: "svc", title: "svc, a feature platform", version };
}

const CAPABILITIES = { tools: {}, resources: {} };

async function resultOf(offer: Offer, method: string, params: Fields, isStateless: boolean, signal: AbortSignal): Promise<Fields> {
  switch (method) {
    case "server/discover":
      if (!isStateless) break;
      return { supportedVersions: [STATELESS_REVISION], capabilities: CAPABILITIES, instructions: offer.instructions };
    case "initialize":
      if (isStateless) break;
      return handshake(offer, params);
    case "ping":
      if (isStateless) break;
      return {};
    case "tools/list":
      return { tools: offer.tools.map(described) };
    case "tools/call":
      return callTool(offer, params, signal);
    case "resources/list":
      return { resources: offer.resources.list };
    case "resources/templates/list":
      return { resourceTemplates: offer.resources.templates };
    case "resources/read":
      return readResource(offer, params, signal);
  }
  throw new RpcError(RPC_CODES.methodNotFound, "There is no such method.");
}

/** The answer to a handshake: the revision that was asked for, or else the newest one. */
function handshake(offer: Offer, { protocolVersion }: Fields): Fields {
  const revision = HANDSHAKE_REVISIONS.find((one) => one === protocolVersion) ?? HANDSHAKE_REVISIONS[0];
  return { protocolVersion: revision, capabilities: CAPABILITIES, serverInfo: serverInfo(offer), instructions: offer.instructions };
}

function described({ name, title, description, parameters, writes = false }: AnyTool): Fields {
  const annotations = writes
    ? { readOnlyHint: false, destructiveHint: false, openWorldHint: false }
    : { readOnlyHint: true, openWorldHint: false };
  return { name, title, description, inputSchema: schemaOf(parameters), annotations };
}

/**
 * The result of a tool. What went wrong in it is a result in words, which the model reads and may
 * act on; only an unknown tool is an error of the protocol.
 */
async function callTool(offer: Offer, { name, arguments: given = {} }: Fields, signal: AbortSignal): Promise<Fields> {
  const tool = offer.tools.find((one) => one.name === name);
  if (!tool) {
    const known =
      typeof name === "string"
        ? didYouMean(
            name.slice(0, 100),
            offer.tools.map((one) => one.name),
          )
        : "";
    throw new RpcError(RPC_CODES.invalidParams, `There is no such tool${known && `: ${known}`}`);
  }
  try {
    if (!isFields(given)) throw new ArgumentRefused("the arguments are no object");
    return { content: [{ type: "text", text: answerText(await tool.call(readArguments(tool.parameters, given), signal)) }] };
  } catch (error) {
    const words = failureWords(error, tool.name);
    if (words === undefined) throw error;
    return { content: [{ type: "text", text: answerText(words) }], isError: true };
  }
}

function failureWords(error: unknown, tool: string): string | undefined {
  if (error instanceof ArgumentRefused) return `${tool}: ${error.message}${error.message.endsWith("?") ? "" : "."}`;
  return error instanceof ToolFailure ? `${error.message}${error.hint ? `\n${error.hint}` : ""}` : undefined;
}

async function readResource(offer: Offer, { uri }: Fields, signal: AbortSignal): Promise<Fields> {
  try {
    const found = typeof uri === "string" && uri.length <= 1_000 ? await offer.resources.read(uri, signal) : undefined;
    if (!found) throw new RpcError(RPC_CODES.invalidParams, "There is no such resource.");
    return { contents: [{ uri, mimeType: found.mimeType, text: answerText(found.text) }] };
  } catch (error) {
    if (error instanceof ToolFailure) throw new RpcError(RPC_CODES.internal, failureWords(error, "") ?? "");
    throw error;
  }
}
