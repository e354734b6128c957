/**
 * The Model Context Protocol, as a server without sessions speaks it: each request is answered by
 * itself, whatever came before. It takes the revision 2026-07-28, whose requests carry their
 * version, and those before it, which begin with `initialize`. The few methods need no library; the
 * official client is in the tests.
 */

import { didYouMean } from "../closest.ts";
import { FollowedResources, MAX_ADDRESS, type ResourceChange } from "./followed-resources.ts";
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
import { type Completed, MAX_COMPLETIONS, MAX_PROMPT_ARGUMENT, type Prompt } from "./prompt.ts";
import type { Resources } from "./resource.ts";
import { type AnyTool, answerText, type Report, ToolFailure } from "./tool.ts";

/** The revision whose requests stand alone. */
export const STATELESS_REVISION = "2026-07-28";
/** Revisions that begin with a handshake, newest first. */
export const HANDSHAKE_REVISIONS: readonly string[] = ["2025-11-25", "2025-06-18", "2025-03-26"];

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities";
const SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo";
const SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId";

/** What a server offers. */
export interface Offer {
  /** Version of the program, for example `v0.1.0`. */
  readonly version: string;
  /** For the model: what the server is, and how to use it. */
  readonly instructions: string;
  readonly tools: readonly AnyTool[];
  readonly resources: Resources;
  readonly prompts: readonly Prompt[];
  /** Names that begin with a text, without regard to case. Throws ToolFailure. */
  readonly complete: (what: Completed, begun: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** Changes of the list of resources and of those that are followed, until the signal says so. */
  readonly resourceChanges: (followed: FollowedResources, signal: AbortSignal) => AsyncIterable<ResourceChange>;
  /** Told of errors that are faults of ours; returns what the caller is told. */
  readonly onFault: (error: unknown) => string;
}

/** What a message is answered with, beside its answer. */
export interface Link {
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
  /** Sends a notification ahead of the answer; absent where there is no way for one. */
  readonly notify?: (message: Fields) => void;
  /** Calls a function again and again until what it returns is called: signs of life. */
  readonly pulse?: (beat: () => void) => () => void;
  /** What a client that began with a handshake follows; absent where nothing is kept of it. */
  readonly followed?: FollowedResources;
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
export async function answerMessage(offer: Offer, value: unknown, link: Link): Promise<Answer | undefined> {
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
    const result = await resultOf(offer, message, isStateless, link);
    return { message: resultMessage(id, isStateless ? completed(offer, method, result) : result), status: 200 };
  } catch (error) {
    return refusal(id, error, offer, isStateless);
  }
}

/** Whether a message is answered by a stream of messages, of which the answer is the last. */
export function wantsStream(value: unknown): boolean {
  if (!isFields(value) || value.id === undefined || !isFields(value.params)) return false;
  if (value.method === "subscriptions/listen") return true;
  return value.method === "tools/call" && progressToken(value.params) !== undefined;
}

/** What says that resources have changed. */
export function changeMessage(change: ResourceChange, meta?: Fields): Fields {
  if (change === "list") return { jsonrpc: "2.0", method: "notifications/resources/list_changed", ...(meta && { params: meta }) };
  return { jsonrpc: "2.0", method: "notifications/resources/updated", params: { ...meta, uri: change.uri } };
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
  const repeated = REPEATED.get(value.method);
  for (const [name, wanted] of [
    ["mcp-protocol-version", revision],
    ["mcp-method", value.method],
    ["mcp-name", repeated && params[repeated]],
  ] as const) {
    if (typeof wanted === "string" && decodedHeader(header(name)) !== wanted)
      return new RpcError(RPC_CODES.headerMismatch, `The header ${name} does not say what the body says.`, undefined, true);
  }
  return undefined;
}

/** The parameter that a header repeats, by method. */
const REPEATED: ReadonlyMap<unknown, "name" | "uri"> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
]);

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
  ...["server/discover", "tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"],
]);

/** A result with what the stateless revision adds: it is whole, of whom, and not to be kept. */
function completed(offer: Offer, method: string, result: Fields): Fields {
  return {
    ...result,
    resultType: "complete",
    _meta: { ...(isFields(result._meta) ? result._meta : {}), [SERVER_INFO_KEY]: serverInfo(offer) },
    ...(CACHEABLE.has(method) ? { ttlMs: 0, cacheScope: "private" } : {}),
  };
}

function serverInfo({ version }: Offer): Fields {
  return { name: "svc", title: "svc, a feature platform", version };
}

const CAPABILITIES = { tools: {}, prompts: {}, resources: { listChanged: true, subscribe: true }, completions: {} };

type Request = Extract<Incoming, { readonly kind: "request" }>;

async function resultOf(offer: Offer, { id, method, params }: Request, isStateless: boolean, link: Link): Promise<Fields> {
  const { signal } = link;
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
      return callTool(offer, params, link);
    case "prompts/list":
      return { prompts: offer.prompts.map(offered) };
    case "prompts/get":
      return writtenPrompt(offer, params);
    case "completion/complete":
      return completion(offer, params, signal);
    case "resources/list":
      return { resources: await offer.resources.list(signal) };
    case "resources/templates/list":
      return { resourceTemplates: offer.resources.templates.map(({ completes: _, ...template }) => template) };
    case "resources/read":
      return readResource(offer, params, signal);
    case "resources/subscribe":
    case "resources/unsubscribe":
      if (isStateless) break;
      return subscription(offer, method === "resources/subscribe", params, link);
    case "subscriptions/listen":
      if (!isStateless) break;
      return listen(offer, id, params, link);
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
async function callTool(offer: Offer, params: Fields, link: Link): Promise<Fields> {
  const { name, arguments: given = {} } = params;
  const tool = named(offer.tools, name, "tool");
  const { report, end } = reporting(params, link);
  try {
    if (!isFields(given)) throw new ArgumentRefused("the arguments are no object");
    const answer = tool.call(readArguments(tool.parameters, given), link.signal, report);
    return { content: [{ type: "text", text: answerText(await unlessAborted(answer, link.signal)) }] };
  } catch (error) {
    const words = failureWords(error, tool.name);
    if (words === undefined) throw error;
    return { content: [{ type: "text", text: answerText(words) }], isError: true };
  } finally {
    end();
  }
}

/** What comes of work, unless nobody waits for it any more. Rejects with RpcError then. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(new RpcError(RPC_CODES.internal, "The call was cancelled."));
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
    work.catch(() => undefined);
  }
}

/** The one of a name. Throws RpcError. */
function named<T extends { readonly name: string }>(all: readonly T[], name: unknown, noun: string): T {
  const found = all.find((one) => one.name === name);
  if (found) return found;
  const names = all.map((one) => one.name);
  const known = typeof name === "string" ? didYouMean(name.slice(0, 100), names) : "";
  throw new RpcError(RPC_CODES.invalidParams, `There is no such ${noun}${known && `: ${known}`}`);
}

/** The token with which a caller wants to hear of progress. */
function progressToken({ _meta: meta }: Fields): string | number | undefined {
  const token = isFields(meta) ? meta.progressToken : undefined;
  return typeof token === "string" || Number.isSafeInteger(token) ? (token as string | number) : undefined;
}

/** Longest message about progress, in characters. */
const MAX_PROGRESS = 500;

/**
 * Tells a caller who wants to know what is being done: each message of the tool, and by signs of
 * life that it still is.
 */
function reporting(params: Fields, { notify, pulse }: Link): { readonly report: Report; readonly end: () => void } {
  const token = progressToken(params);
  if (token === undefined || !notify) return { report: () => undefined, end: () => undefined };
  let progress = 0;
  let last = "working";
  const report: Report = (said) => {
    last = answerText(said).slice(0, MAX_PROGRESS).toWellFormed();
    progress += 1;
    notify({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: token, progress, message: last } });
  };
  return { report, end: pulse?.(() => report(last)) ?? (() => undefined) };
}

function offered({ name, title, description, arguments: given }: Prompt): Fields {
  const args = given.map((one) => ({ name: one.name, description: one.description, required: one.isRequired ?? false }));
  return { name, title, description, arguments: args };
}

function writtenPrompt(offer: Offer, { name, arguments: given = {} }: Fields): Fields {
  const prompt = named(offer.prompts, name, "prompt");
  if (!isFields(given)) throw new RpcError(RPC_CODES.invalidParams, "The arguments are no object.");
  for (const one of Object.keys(given)) named(prompt.arguments, one, "argument");
  const values = prompt.arguments.map(({ isRequired, name: key }) => {
    const value = given[key] ?? "";
    if (typeof value !== "string" || value.length > MAX_PROMPT_ARGUMENT || !value.isWellFormed())
      throw new RpcError(RPC_CODES.invalidParams, `The argument '${key}' is a text of at most ${MAX_PROMPT_ARGUMENT} characters.`);
    if (isRequired && value.trim() === "") throw new RpcError(RPC_CODES.invalidParams, `The argument '${key}' is missing.`);
    return [key, value.trim()] as const;
  });
  const text = prompt.write(Object.fromEntries(values));
  return { description: prompt.description, messages: [{ role: "user", content: { type: "text", text: answerText(text) } }] };
}

/** Values for an argument of a prompt, or of an address of resources. */
async function completion(offer: Offer, { ref, argument }: Fields, signal: AbortSignal): Promise<Fields> {
  if (!isFields(ref) || !isFields(argument) || typeof argument.value !== "string" || argument.value.length > MAX_PROMPT_ARGUMENT)
    throw new RpcError(RPC_CODES.invalidParams, "A completion names what it is of, an argument and its value.");
  const what =
    ref.type === "ref/prompt"
      ? named(named(offer.prompts, ref.name, "prompt").arguments, argument.name, "argument").completes
      : offer.resources.templates.find(({ uriTemplate }) => uriTemplate === ref.uri && argument.name === "name")?.completes;
  const all = what === undefined ? [] : await inProtocol(() => offer.complete(what, argument.value as string, signal));
  return { completion: { values: all.slice(0, MAX_COMPLETIONS), total: all.length, hasMore: all.length > MAX_COMPLETIONS } };
}

/** Tells of changes until nobody listens any more, or until there are none to tell of. */
async function listen(offer: Offer, id: RpcId, { notifications: wanted }: Fields, { notify, signal }: Link): Promise<Fields> {
  if (!isFields(wanted)) throw new RpcError(RPC_CODES.invalidParams, "A subscription says which notifications it is of.");
  if (!notify) throw new RpcError(RPC_CODES.invalidRequest, "A subscription is answered by a stream: send Accept: text/event-stream.");
  const meta = { _meta: { [SUBSCRIPTION_KEY]: id } };
  const { resourcesListChanged, resourceSubscriptions = [] } = wanted;
  if (!Array.isArray(resourceSubscriptions))
    throw new RpcError(RPC_CODES.invalidParams, "resourceSubscriptions is a list of addresses of resources.");
  const followed = new FollowedResources();
  const found: unknown[] = [];
  for (const uri of new Set<unknown>(resourceSubscriptions))
    if (await inProtocol(() => followed.add(offer.resources, uri, signal))) found.push(uri);
  const honored = {
    ...(resourcesListChanged === true && { resourcesListChanged }),
    ...(found.length > 0 && { resourceSubscriptions: found }),
  };
  notify({ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params: { ...meta, notifications: honored } });
  if (Object.keys(honored).length > 0)
    for await (const change of offer.resourceChanges(followed, signal))
      if (change !== "list" || resourcesListChanged === true) notify(changeMessage(change, meta));
  return meta;
}

/** Begins or ends to follow a resource, for a client that began with a handshake. */
async function subscription(offer: Offer, begins: boolean, { uri }: Fields, { followed, signal }: Link): Promise<Fields> {
  if (!followed)
    throw new RpcError(RPC_CODES.invalidRequest, "A subscription is one of a session: send the Mcp-Session-Id of the handshake.");
  if (!begins) followed.remove(uri);
  else if (!(await inProtocol(() => followed.add(offer.resources, uri, signal)))) throw noResource();
  return {};
}

function noResource(): RpcError {
  return new RpcError(RPC_CODES.invalidParams, "There is no such resource.");
}

function failureWords(error: unknown, tool: string): string | undefined {
  if (error instanceof ArgumentRefused) return `${tool}: ${error.message}${error.message.endsWith("?") ? "" : "."}`;
  return error instanceof ToolFailure ? `${error.message}${error.hint ? `\n${error.hint}` : ""}` : undefined;
}

async function readResource(offer: Offer, { uri }: Fields, signal: AbortSignal): Promise<Fields> {
  const found =
    typeof uri === "string" && uri.length <= MAX_ADDRESS ? await inProtocol(() => offer.resources.read(uri, signal)) : undefined;
  if (!found) throw noResource();
  return { contents: [{ uri, mimeType: found.mimeType, text: answerText(found.text) }] };
}

/** Does what may fail in words, as an error of the protocol. */
async function inProtocol<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ToolFailure) throw new RpcError(RPC_CODES.internal, failureWords(error, "") ?? "");
    throw error;
  }
}
