/** JSON-RPC 2.0 between an editor and the language server. */

import { errorText } from "../../domain/error-text.ts";
import { JSON_RPC_ERRORS } from "../../domain/json-rpc.ts";

/** Error codes of JSON-RPC and of the language server protocol. */
export const RPC_ERRORS = {
  ...JSON_RPC_ERRORS,
  notInitialized: -32002,
  requestFailed: -32803,
} as const;

/** The error that a request is answered with. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

/**
 * The handler of a method. Its return value is the result of a request; for a notification it is
 * dropped.
 */
export type Handler = (params: Readonly<Record<string, unknown>>) => unknown;

/** A connection to an editor. */
export interface RpcConnection {
  /** Takes one message; resolves when it was handled. Never rejects. */
  receive(text: string): Promise<void>;
  notify(method: string, params: unknown): void;
  /** Sends a request and ignores the answer. */
  request(method: string, params: unknown): void;
}

/**
 * A connection. `find` gives the handler of a method, throws RpcError when the method must not be
 * called now, and gives undefined for methods that do not exist.
 */
export function createRpc(
  send: (message: unknown) => void,
  find: (method: string) => Handler | undefined,
  onError: (error: unknown) => void,
): RpcConnection {
  let nextId = 0;
  const reply = (id: unknown, outcome: { result: unknown } | { error: { code: number; message: string } }) =>
    send({ jsonrpc: "2.0", id, ...outcome });

  const answer = async (message: Readonly<Record<string, unknown>>): Promise<void> => {
    const { id, method, params } = message;
    const isRequest = typeof id === "number" || typeof id === "string";
    if (typeof method !== "string") {
      if (!("result" in message || "error" in message))
        reply(isRequest ? id : null, { error: { code: RPC_ERRORS.invalidRequest, message: "a message without a method" } });
      return;
    }
    try {
      const handle = find(method);
      if (!handle && isRequest) throw new RpcError(RPC_ERRORS.methodNotFound, `there is no method ${method}`);
      const result = await handle?.((params ?? {}) as Readonly<Record<string, unknown>>);
      if (isRequest) reply(id, { result: result ?? null });
    } catch (error) {
      const code = error instanceof RpcError ? error.code : RPC_ERRORS.internal;
      if (!(error instanceof RpcError)) onError(error);
      if (isRequest) reply(id, { error: { code, message: errorText(error) } });
    }
  };

  return {
    async receive(text) {
      let message: unknown;
      try {
        message = JSON.parse(text);
      } catch {
        reply(null, { error: { code: RPC_ERRORS.parse, message: "a message that is no JSON" } });
        return;
      }
      for (const one of Array.isArray(message) ? message : [message]) {
        if (one !== null && typeof one === "object") await answer(one as Readonly<Record<string, unknown>>);
        else reply(null, { error: { code: RPC_ERRORS.invalidRequest, message: "a message that is no object" } });
      }
    },
    notify: (method, params) => send({ jsonrpc: "2.0", method, params }),
    request: (method, params) => send({ jsonrpc: "2.0", id: `svc-${++nextId}`, method, params }),
  };
}
