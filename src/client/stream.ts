/** Server streams, through the Connect client on the shared fetch function. */

import type { DescMessage, DescMethodServerStreaming, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { type CallOptions, Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { Method } from "../contract/contract.ts";
import type { Connection, Target } from "./connection.ts";
import { callError, detailOf } from "./failure.ts";
import { answerTooLarge, type Endpoint, MAX_BODY_BYTES, NetworkError, readBody } from "./fetch.ts";
import { callHeaders, logMessage } from "./unary.ts";

/** Longest silence of a stream before it fails; servers send a heartbeat every 10 s. */
export const IDLE_TIMEOUT_MS = 45_000;
/** Longest duration of a stream. */
const STREAM_TIMEOUT_MS = 24 * 3_600_000;
/** Longest body of an answer that is not a stream: a refusal, or a page of another program. */
const MAX_REFUSAL_BYTES = 1024 * 1024;

/**
 * Calls a server-streaming method and yields messages as they come. Throws CliErrors; after
 * `connection_lost` (the connection broke) the caller may start over.
 */
export async function* streamCall<I extends DescMessage, O extends DescMessage>(
  connection: Connection,
  target: Target,
  method: Method<I, O>,
  init: MessageInitShape<I>,
  options: CallOptions | undefined,
): AsyncIterable<MessageShape<O>> {
  const endpoint = await connection.endpoint(target);
  connection.host.progress.verbose(`${method.parent.name}.${method.name} at ${endpoint.url} (stream)`);
  const open = async (token: string | undefined) => {
    const abort = new AbortController();
    const stop = () => abort.abort(options?.signal?.reason);
    if (options?.signal?.aborted) stop();
    else options?.signal?.addEventListener("abort", stop, { once: true });
    const transport = transportOf(connection, endpoint);
    try {
      const response = await transport.stream(
        method as unknown as DescMethodServerStreaming<I, O>,
        abort.signal,
        undefined,
        await callHeaders(connection, token, options),
        (async function* () {
          yield init;
        })(),
      );
      const items = response.message[Symbol.asyncIterator]();
      return { items, abort, first: await within(items.next(), endpoint, abort) };
    } catch (error) {
      throw translate(error, connection, endpoint);
    }
  };
  const { items, abort, first } = await (method.isPublic ? open(undefined) : connection.authorized(endpoint, open));
  try {
    for (let next = first; !next.done; next = await within(items.next(), endpoint, abort)) {
      await logMessage(connection, "<", method.output, next.value);
      yield next.value;
    }
  } catch (error) {
    throw translate(error, connection, endpoint);
  } finally {
    abort.abort();
  }
}

function transportOf(connection: Connection, endpoint: Endpoint): Transport {
  return createConnectTransport({
    baseUrl: endpoint.url,
    useBinaryFormat: true,
    fetch: (async (input: RequestInfo | URL, init?: RequestInit) => {
      const request = {
        method: "POST",
        url: String(input),
        headers: new Headers(init?.headers),
        body: init?.body as Uint8Array<ArrayBuffer>,
        timeoutMs: STREAM_TIMEOUT_MS,
        signal: init?.signal ?? undefined,
      } as const;
      return bounded(await connection.fetch(endpoint, request), endpoint);
    }) as typeof globalThis.fetch,
  });
}

/**
 * The answer, which fails before it takes more memory than a message may: the Connect client trusts
 * every length that it receives.
 */
async function bounded(response: Response, endpoint: Endpoint): Promise<Response> {
  const { headers, status, body } = response;
  if (!body) return response;
  if (!/^application\/connect\+/i.test(headers.get("content-type") ?? "")) {
    return new Response(await readBody(response, endpoint, { timeoutMs: STREAM_TIMEOUT_MS }, MAX_REFUSAL_BYTES), { headers, status });
  }
  return new Response(body.pipeThrough(messageGuard(endpoint)), { headers, status });
}

/**
 * A stream that passes messages on, each a header of 5 bytes (flags, and the length as a big-endian
 * number) and a body, and fails when a length exceeds the limit.
 */
function messageGuard(endpoint: Endpoint): TransformStream<Uint8Array, Uint8Array> {
  const head = new Uint8Array(5);
  let filled = 0;
  let left = 0;
  return new TransformStream({
    transform(chunk, controller) {
      for (let at = 0; at < chunk.length; ) {
        const part = Math.min(left > 0 ? left : head.length - filled, chunk.length - at);
        if (left > 0) left -= part;
        else {
          head.set(chunk.subarray(at, at + part), filled);
          filled = (filled + part) % head.length;
          if (filled === 0) left = new DataView(head.buffer).getUint32(1);
          if (left > MAX_BODY_BYTES) throw answerTooLarge(endpoint, MAX_BODY_BYTES);
        }
        at += part;
      }
      controller.enqueue(chunk);
    },
  });
}

async function within<T>(next: Promise<T>, endpoint: Endpoint, abort: AbortController): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const quiet = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      abort.abort();
      reject(
        new NetworkError(`${endpoint.url} has sent nothing for ${IDLE_TIMEOUT_MS / 1000} s`, "Try again.", true, undefined, "timeout"),
      );
    }, IDLE_TIMEOUT_MS);
  });
  try {
    return await Promise.race([next, quiet]);
  } finally {
    clearTimeout(timer);
  }
}

function translate(error: unknown, connection: Connection, endpoint: Endpoint): unknown {
  if (connection.host.signal.aborted) return connection.host.signal.reason;
  if (!(error instanceof ConnectError)) return error;
  if (error.cause instanceof Error && error.cause.name.endsWith("Error") && "exitCode" in error.cause) return error.cause;
  const broken = error.code === Code.Unknown || error.code === Code.InvalidArgument || error.code === Code.DataLoss;
  if (broken && error.details.length === 0 && error.metadata.keys().next().done) {
    const message = `the connection to ${endpoint.url} was closed before the answer was complete`;
    return new NetworkError(message, "Try again.", true, error, "connection_lost");
  }
  const details = error.details.map((detail) => ("type" in detail ? detail : undefined));
  return callError(
    { code: CODE_NAMES[error.code] ?? "unknown", message: error.rawMessage, detail: detailOf(details) },
    endpoint,
    connection.redactor,
  );
}

const CODE_NAMES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(Code)
    .filter((entry): entry is [string, Code] => typeof entry[1] === "number")
    .map(([name, code]) => [code, name.replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase()]),
);
