/**
 * Unary calls. A Connect unary call is one POST of a protobuf message, so it is sent as that. This
 * starts three times faster than the Connect client, which is loaded only for streams; commands see
 * the same typed functions.
 */

import { create, type DescMessage, type MessageInitShape, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { CallOptions } from "@connectrpc/connect";
import type { Method } from "../contract/contract.ts";
import type { Connection, Target } from "./connection.ts";
import { callError, decodeAnswer, failureOf, transientCall, wrongContent } from "./failure.ts";
import { type Endpoint, isProvablyComplete, NetworkError, readBody, transientNetwork } from "./fetch.ts";

/** Longest wait for an answer, unless the call sets another. */
export const CALL_TIMEOUT_MS = 60_000;

/**
 * The headers of a call: the scope, the token, and the caller's; an empty value from the caller
 * removes a scope header.
 */
export async function callHeaders(connection: Connection, token: string | undefined, options: CallOptions | undefined): Promise<Headers> {
  const headers = new Headers();
  for (const [name, value] of await connection.scopeHeaders()) headers.set(name, value);
  for (const [name, value] of new Headers(options?.headers)) {
    if (value === "") headers.delete(name);
    else headers.set(name, value);
  }
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  return headers;
}

/**
 * A function that calls a unary method and rejects with CliErrors. A caller's `authorization`
 * header takes precedence over the settings' credentials.
 */
export function unaryCall<I extends DescMessage, O extends DescMessage>(
  connection: Connection,
  target: Target,
  method: Method<I, O>,
): (request: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>> {
  const path = `/${method.parent.typeName}/${method.name}`;
  return async (init, options) => {
    const request = create(method.input, init);
    const body = toBinary(method.input, request) as Uint8Array<ArrayBuffer>;
    const endpoint = await connection.endpoint(target);
    connection.host.progress.verbose(`${method.parent.name}.${method.name} at ${endpoint.url}`);
    await logMessage(connection, ">", method.input, request);
    const attempt = (token: string | undefined) =>
      connection.retry.run(
        method.idempotent,
        () => send(token),
        (error) => transientNetwork(error) ?? transientCall(error),
      );
    const send = async (token: string | undefined) => {
      const headers = await callHeaders(connection, token, options);
      return post(connection, endpoint, path, headers, body, method.output, options);
    };
    const bringsItsOwn = new Headers(options?.headers).has("authorization");
    return method.isPublic || bringsItsOwn ? attempt(undefined) : connection.authorized(endpoint, attempt);
  };
}

/** Logs a message that goes out (`>`) or came in (`<`), when messages are logged. */
export async function logMessage<D extends DescMessage>(
  { host, redactor }: Connection,
  direction: ">" | "<",
  schema: D,
  message: MessageShape<D>,
): Promise<void> {
  if (!host.flags.debug) return;
  const { messageText } = await import("./message-text.ts");
  host.progress.debug(`${direction} ${messageText(redactor, schema, message)}`);
}

async function post<O extends DescMessage>(
  connection: Connection,
  endpoint: Endpoint,
  path: string,
  headers: Headers,
  body: Uint8Array<ArrayBuffer>,
  output: O,
  options: CallOptions | undefined,
): Promise<MessageShape<O>> {
  const timeoutMs = options?.timeoutMs !== undefined && options.timeoutMs > 0 ? options.timeoutMs : CALL_TIMEOUT_MS;
  headers.set("content-type", "application/proto");
  headers.set("connect-protocol-version", "1");
  headers.set("connect-timeout-ms", String(Math.round(timeoutMs)));
  const request = { method: "POST", url: endpoint.url + path, headers, body, timeoutMs, signal: options?.signal } as const;
  const response = await connection.fetch(endpoint, request);
  const answer = await readBody(response, endpoint, request);
  options?.onHeader?.(response.headers);
  if (!response.ok) {
    const failure = failureOf(response, answer, endpoint, connection.proxies, connection.host.clock.now());
    if (connection.host.flags.debug) connection.host.progress.debug(connection.redactor.text(`< ${failure.code}: ${failure.message}`));
    throw callError(failure, endpoint, connection.redactor);
  }
  if (!/^application\/proto\b/i.test(response.headers.get("content-type") ?? ""))
    throw wrongContent(response, answer, endpoint, connection);
  if (!isProvablyComplete(response, answer)) {
    throw new NetworkError(
      `whether the answer of ${endpoint.url} is whole does not show`,
      "Try again.",
      false,
      undefined,
      "connection_lost",
    );
  }
  const message = decodeAnswer(output, answer, endpoint);
  await logMessage(connection, "<", output, message);
  return message;
}
