/** Messages of JSON-RPC 2.0, as far as the Model Context Protocol uses them. */

import { JSON_RPC_ERRORS } from "../json-rpc.ts";

/** An object of JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/** The codes of errors: those of JSON-RPC, and those that the Model Context Protocol adds. */
export const RPC_CODES = {
  ...JSON_RPC_ERRORS,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

/** A refused request. Its message is sent to the caller. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  constructor(
    readonly code: number,
    message: string,
    /** What a program reads of it. */
    readonly data?: Fields,
    /** Whether the request itself was wrong, not its work: HTTP status 400. */
    readonly isMalformed = false,
  ) {
    super(message);
  }
}

/** The id of a request. */
export type RpcId = string | number;

/** A message that came in; what answers a request of ours is `other`, since there are none. */
export type Incoming =
  | { readonly kind: "request"; readonly id: RpcId; readonly method: string; readonly params: Fields }
  | { readonly kind: "notification"; readonly method: string; readonly params: Fields }
  | { readonly kind: "other" };

/** Whether a value is an object of JSON. */
export function isFields(value: unknown): value is Fields {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** The message that a JSON document is. Throws RpcError. */
export function incoming(value: unknown): Incoming {
  if (Array.isArray(value)) throw invalid("Batches are not taken: send one message at a time.");
  if (!isFields(value) || value.jsonrpc !== "2.0") throw invalid('The message is no object of JSON-RPC: it lacks "jsonrpc": "2.0".');
  const { id, method, params = {} } = value;
  if (method === undefined && ("result" in value || "error" in value)) return { kind: "other" };
  if (typeof method !== "string") throw invalid("The message has no method.");
  if (!isFields(params)) throw invalid("The parameters are no object.");
  if (id === undefined) return { kind: "notification", method, params };
  if (typeof id !== "string" && !Number.isSafeInteger(id)) throw invalid("The id is neither a string nor a whole number.");
  return { kind: "request", id: id as RpcId, method, params };
}

/** The JSON document of a text. Throws RpcError. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RpcError(RPC_CODES.parse, "The message is not JSON.", undefined, true);
  }
}

/** The answer to a request that has a result. */
export function resultMessage(id: RpcId, result: Fields): Fields {
  return { jsonrpc: "2.0", id, result };
}

/** The answer to a request that was refused; `id` is null where it could not be read. */
export function errorMessage(id: RpcId | null, { code, message, data }: RpcError): Fields {
  return { jsonrpc: "2.0", id, error: { code, message, ...(data ? { data } : {}) } };
}

function invalid(message: string): RpcError {
  return new RpcError(RPC_CODES.invalidRequest, message, undefined, true);
}
