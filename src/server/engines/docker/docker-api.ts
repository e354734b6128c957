/**
 * The HTTP API of Docker, version 1.41, over a Unix socket; Podman serves the same paths. Answers
 * are read by the fields that both have.
 */

import { connect, type Socket } from "node:net";
import { errorText } from "../../../domain/error-text.ts";
import type { JsonObject } from "../../../domain/json-value.ts";
import { Failure, type FailureKind } from "../../failure.ts";

const VERSION = "/v1.41";
/** Most bytes of an answer that is no stream. */
const MAX_ANSWER = 16 * 1024 * 1024;
/** Most characters of an engine's words that are passed on. */
const MAX_WORDS = 1_000;
/** Longest wait for an answer that is no stream. */
const ANSWER_MS = 60_000;
/** Most bytes of the head of an answer that becomes a stream of both ways. */
const MAX_HEAD = 16 * 1024;

const KINDS: Readonly<Record<number, FailureKind>> = {
  400: "invalid_argument",
  404: "not_found",
  409: "failed_precondition",
  500: "invalid_argument",
};

/** How a call is made. */
export interface DockerCall {
  readonly method?: "GET" | "POST" | "DELETE" | "PUT";
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly json?: JsonObject;
  readonly body?: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
  /** Milliseconds until it is given up; default a minute; 0 = never. */
  readonly timeoutMs?: number;
}

/** The API at one socket. */
export interface DockerApi {
  readonly address: string;
  /** The answer to a call. Rejects with Failure when it is none of success. */
  call(path: string, call?: DockerCall): Promise<Response>;
  /** The answer as text of a bounded length. Rejects with Failure. */
  text(path: string, call?: DockerCall): Promise<string>;
  /** The answer as JSON; an empty one has no members. Rejects with Failure. */
  json(path: string, call?: DockerCall): Promise<JsonObject>;
  /** A connection that was turned into a stream of both ways. Rejects with Failure. */
  upgrade(path: string, json: JsonObject): Promise<{ readonly socket: Socket; readonly early: Uint8Array }>;
}

/** Makes the API. @param path the socket's */
export function createDockerApi(path: string): DockerApi {
  const address = `unix://${path}`;
  const unreachable = (error: unknown): Failure =>
    new Failure("unavailable", `The container engine at ${address} does not answer: ${errorText(error)}.`, {
      hint: "Start it, for example with `systemctl start podman.socket` or `systemctl start docker`.",
    });

  const call: DockerApi["call"] = async (target, options = {}) => {
    const { method = "GET", query = {}, json, body, contentType, signal, timeoutMs = ANSWER_MS } = options;
    const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const search = given.length > 0 ? `?${new URLSearchParams(given)}` : "";
    const signals = [...(signal ? [signal] : []), ...(timeoutMs > 0 ? [AbortSignal.timeout(timeoutMs)] : [])];
    let response: Response;
    try {
      response = await fetch(`http://engine${VERSION}${target}${search}`, {
        ...{ method, unix: path, proxy: "", redirect: "error", signal: AbortSignal.any(signals) },
        ...(json && { body: JSON.stringify(json), headers: { "content-type": "application/json" } }),
        ...(body && { body, headers: { "content-type": contentType ?? "application/octet-stream" } }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw unreachable(error);
    }
    if (response.ok || response.status === 304) return response;
    throw refusal(response.status, await boundedText(response));
  };

  const text: DockerApi["text"] = async (target, options) => boundedText(await call(target, options));

  return {
    address,
    call,
    text,
    async json(target, options) {
      const said = await text(target, options);
      if (said === "") return {};
      try {
        return JSON.parse(said) as JsonObject;
      } catch {
        throw new Failure("unavailable", `The container engine at ${address} answered with what is no JSON.`);
      }
    },
    upgrade: (target, json) =>
      new Promise((resolve, reject) => {
        const body = JSON.stringify(json);
        const socket = connect({ path, allowHalfOpen: true });
        let head = Buffer.alloc(0);
        const fail = (error: unknown): void => {
          socket.destroy();
          reject(error instanceof Failure ? error : unreachable(error));
        };
        const timer = setTimeout(() => fail(new Error("no answer in time")), ANSWER_MS);
        const onEnd = (): void => fail(new Error("it closed the connection"));
        const onData = (bytes: Buffer): void => {
          head = Buffer.concat([head, bytes]);
          const end = head.indexOf("\r\n\r\n");
          if (end < 0) {
            if (head.length > MAX_HEAD) fail(new Error("its answer has no end"));
            return;
          }
          const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head.toString("latin1", 0, end))?.[1] ?? 0);
          const early = head.subarray(end + 4);
          if (status !== 101 && status !== 200) {
            fail(refusal(status, early.toString().replace(/^[\da-f]+\r\n/i, "")));
            return;
          }
          clearTimeout(timer);
          socket.pause();
          for (const [event, listener] of [
            ["data", onData],
            ["end", onEnd],
            ["error", fail],
          ] as const)
            socket.off(event, listener);
          resolve({ socket, early });
        };
        socket.on("data", onData).on("end", onEnd).on("error", fail);
        socket.write(
          `POST ${VERSION}${target} HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n` +
            `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
        );
      }),
  };
}

/** An engine's refusal in its own words. */
function refusal(status: number, text: string): Failure {
  return new Failure(KINDS[status] ?? "unavailable", `The container engine refused: ${wordsOf(text) || `status ${status}`}.`);
}

/** What an engine says, in one line without a point at its end. */
export function wordsOf(text: string): string {
  let words = text;
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === "string") words = message;
  } catch {
    // An engine may say it in plain words.
  }
  return words.replaceAll(/\s+/g, " ").trim().replace(/\.$/, "").slice(0, MAX_WORDS);
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER) throw new Failure("unavailable", "The container engine's answer is too long to be read.");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Whether a call failed because there is no such thing. */
export function isGone(error: unknown): boolean {
  return error instanceof Failure && error.kind === "not_found";
}

/** What a call gives, or undefined when there is no such thing. */
export async function unlessGone<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}
