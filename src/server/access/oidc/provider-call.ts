/**
 * Calls of the identity provider: bounded in time and size, following no redirect. Calls of this
 * machine go to it directly, others through the proxy that the environment names.
 */

import { isLoopbackHost } from "../../../domain/ip-address.ts";
import { Failure } from "../../failure.ts";

/** A call of the provider. */
export interface ProviderCall {
  readonly method?: string;
  readonly headers?: HeadersInit;
  readonly body?: URLSearchParams;
}

/** Milliseconds that a call may take, unless it is told otherwise. */
export const CALL_MS = 10_000;
const MAX_ANSWER_BYTES = 256 * 1024;
const MAX_WORDS = 200;

/** Why the provider was of no use; the reason is for people, and has no secret. */
export function providerFailed(host: string, reason: string): Failure {
  return new Failure("unavailable", `The identity provider ${host} ${reason}.`, {
    hint: "Try again; if it stays so, tell the administrator of this server.",
  });
}

/**
 * The answer to a call, with its body read. Rejects with Failure unavailable when there is none, it
 * is a redirect, or it is too long.
 */
export async function callProvider(url: URL, { method = "GET", headers, body }: ProviderCall, callMs: number): Promise<Response> {
  const signal = AbortSignal.timeout(callMs);
  const direct = isLoopbackHost(url.hostname) ? { proxy: false } : {};
  try {
    const init = { method, redirect: "manual", signal, ...(headers && { headers }), ...(body && { body }), ...direct };
    const answer = await fetch(url, init as unknown as RequestInit);
    const bytes = await readSome(answer);
    if (bytes === undefined) throw providerFailed(url.host, `answered more than ${MAX_ANSWER_BYTES / 1024} KiB`);
    if (answer.status >= 300 && answer.status < 400)
      throw providerFailed(url.host, `answered ${answer.status}, a redirect, which is not followed`);
    return new Response(bytes, { status: answer.status, headers: answer.headers });
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (signal.aborted) throw providerFailed(url.host, `did not answer within ${callMs / 1000} s`);
    throw providerFailed(url.host, `cannot be reached: ${faultOf(error)}`);
  }
}

/** The JSON object of an answer; undefined when it is none. */
export async function objectOf(answer: Response): Promise<Readonly<Record<string, unknown>> | undefined> {
  const value: unknown = await answer.json().catch(() => undefined);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
}

/** Words of the provider or of an address, on one line and short. */
export function plain(words: unknown): string {
  return String(words)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim()
    .slice(0, MAX_WORDS);
}

/** The body of an answer; undefined when it is too long. */
async function readSome({ body }: Response): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) return undefined;
    chunks.push(chunk);
  }
  return new Uint8Array(Buffer.concat(chunks));
}

/** The code of an error of fetch; its message has the address, which may hold a code. */
function faultOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : error instanceof Error ? error.name : "it failed";
}
