/**
 * Calls of the identity provider: bounded in time and size, following no redirect. Calls of this
 * machine go to it directly, others through the proxy that the environment names.
 */

import { isLoopbackHost } from "../../../domain/ip-address.ts";
import { Failure } from "../../failure.ts";
import { answerBytes, jsonObject } from "../../web-answer.ts";

/** A call of the provider. */
export interface ProviderCall {
  readonly method?: string;
  readonly headers?: HeadersInit;
  readonly body?: URLSearchParams;
}

/** Milliseconds that a call may take, unless it is told otherwise. */
export const CALL_MS = 10_000;
const MAX_ANSWER_BYTES = 256 * 1024;

/** Why the provider was of no use; the reason is for people, and has no secret. */
export function providerFailed(host: string, reason: string): Failure {
  return new Failure("unavailable", `The identity provider ${host} ${reason}.`, {
    hint: "Try again; if it stays so, tell the administrator of this server.",
  });
}

/** An answer that was read to its end. */
export interface ProviderAnswer {
  readonly status: number;
  readonly ok: boolean;
  readonly text: string;
  /** Its JSON object; undefined when it is none. */
  readonly told: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The answer to a call. Rejects with Failure unavailable when there is none, it
 * is a redirect, or it is too long.
 */
export async function callProvider(url: URL, { method = "GET", headers, body }: ProviderCall, callMs: number): Promise<ProviderAnswer> {
  const signal = AbortSignal.timeout(callMs);
  const direct = isLoopbackHost(url.hostname) ? { proxy: false } : {};
  try {
    const init = { method, redirect: "manual", signal, ...(headers && { headers }), ...(body && { body }), ...direct };
    const answer = await fetch(url, init as unknown as RequestInit);
    const bytes = await answerBytes(answer, MAX_ANSWER_BYTES);
    if (bytes === undefined) throw providerFailed(url.host, `answered more than ${MAX_ANSWER_BYTES / 1024} KiB`);
    if (answer.status >= 300 && answer.status < 400)
      throw providerFailed(url.host, `answered ${answer.status}, a redirect, which is not followed`);
    const text = new TextDecoder().decode(bytes);
    return { status: answer.status, ok: answer.ok, text, told: jsonObject(text) };
  } catch (error) {
    if (error instanceof Failure) throw error;
    if (signal.aborted) throw providerFailed(url.host, `did not answer within ${callMs / 1000} s`);
    throw providerFailed(url.host, `cannot be reached: ${faultOf(error)}`);
  }
}

/** The code of an error of fetch; its message has the address, which may hold a code. */
function faultOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : error instanceof Error ? error.name : "it failed";
}
