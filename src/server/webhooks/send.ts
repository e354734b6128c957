/**
 * One attempt to deliver: the host is looked up, every address of it is checked, and the connection
 * goes to an address that was checked, whatever the name means a moment later.
 */

import { lookup } from "node:dns/promises";
import type { Clock } from "../../context/clock.ts";
import { parseAddress } from "../../domain/ip-address.ts";
import { refusalOf } from "./address-guard.ts";

/** The addresses of a host's name. Rejects when there are none. */
export type Resolve = (host: string) => Promise<readonly string[]>;

/** What is sent. */
export interface Outgoing {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What became of an attempt. */
export interface Attempted {
  /** Status of the receiver's answer; 0 = there was none. */
  readonly status: number;
  /** Why it was not delivered; empty when it was. Never has a secret, nor the address's path. */
  readonly error: string;
  /** Whether another attempt would end the same way. */
  readonly isFinal: boolean;
  /**
   * The beginning of the answer's body, at most `ANSWER_BYTES`, as it came: it may repeat secrets
   * that were sent. Absent = it has none.
   */
  readonly answer?: string;
}

/** Makes one attempt; never rejects. */
export type Send = (outgoing: Outgoing, signal?: AbortSignal) => Promise<Attempted>;

/** Milliseconds that an attempt may take, from the look-up to the answer's head. */
export const ATTEMPT_MS = 10_000;
/** Bytes of an answer's body that are read, and milliseconds for which they are waited for. */
export const ANSWER_BYTES = 8_192;
const ANSWER_MS = 1_000;
/** Addresses that are tried when no connection comes about. */
const MAX_TRIED = 3;
const GONE = 410;

/** The system's resolver. */
export const systemResolve: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/** Makes the sender of deliveries. */
export function createSend({
  clock,
  allowed,
  resolve = systemResolve,
  authorities,
}: {
  readonly clock: Clock;
  /** Networks that the operator allows. */
  readonly allowed: readonly string[];
  readonly resolve?: Resolve;
  /** Certificate authorities as PEM, in place of the system's. */
  readonly authorities?: string;
}): Send {
  const attempt = async ({ url, headers, body }: Outgoing, signal: AbortSignal): Promise<Attempted> => {
    const target = new URL(url);
    const host = target.hostname.replace(/\.$/, "");
    const addresses = parseAddress(host) === undefined ? await resolve(host).catch(() => []) : [host];
    signal.throwIfAborted();
    if (addresses.length === 0) return failed("the name of the receiver's host is not known");
    for (const address of addresses) {
      const refusal = refusalOf(address, allowed);
      if (refusal !== undefined) return { ...failed(`blocked: the receiver's address ${address} ${refusal}`), isFinal: true };
    }
    let reason = "";
    for (const address of addresses.slice(0, MAX_TRIED)) {
      const pinned = pin(target, address);
      if (!pinned) return { ...failed(`blocked: ${address} is written as no address is`), isFinal: true };
      try {
        const response = await fetch(pinned, {
          method: "POST",
          headers: { ...headers, host: target.host, "accept-encoding": "identity" },
          body,
          signal,
          redirect: "manual",
          keepalive: false,
          decompress: false,
          proxy: DIRECT,
          tls: { rejectUnauthorized: true, ...(isName(host) && { serverName: host }), ...(authorities && { ca: authorities }) },
        } as unknown as RequestInit);
        const answer = await beginningOf(response, clock);
        return { ...outcomeOf(response.status), ...(answer !== "" && { answer }) };
      } catch (error) {
        signal.throwIfAborted();
        reason = faultOf(error);
        if (!UNCONNECTED.test(reason)) break;
      }
    }
    return failed(`the receiver could not be reached: ${reason}`);
  };

  return async (outgoing, given) => {
    const over = new AbortController();
    const late = new AbortController();
    const timing = clock.sleep(ATTEMPT_MS, over.signal).then(
      () => late.abort(new Error("late")),
      () => undefined,
    );
    const signal = AbortSignal.any([late.signal, ...(given ? [given] : [])]);
    const ended = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
    ended.catch(() => undefined);
    try {
      return await Promise.race([attempt(outgoing, signal), ended]);
    } catch (error) {
      if (late.signal.aborted) return failed(`the receiver did not answer within ${ATTEMPT_MS / 1_000} s`);
      return failed(signal.aborted ? "the attempt was ended" : faultOf(error));
    } finally {
      over.abort();
      await timing;
    }
  };
}

/**
 * The beginning of an answer's body: what comes of it in a while, however it ends. The attempt has
 * its outcome already.
 */
async function beginningOf({ body }: Response, clock: Clock): Promise<string> {
  if (!body) return "";
  const reader = body.getReader();
  const over = new AbortController();
  const late = clock.sleep(ANSWER_MS, over.signal).then(
    () => LATE,
    () => LATE,
  );
  const parts: Uint8Array[] = [];
  try {
    for (let bytes = 0; bytes < ANSWER_BYTES; ) {
      const { done, value } = await Promise.race([reader.read(), late]);
      if (done) break;
      parts.push(value);
      bytes += value.length;
    }
  } catch {
    // What came before the connection broke is the beginning.
  } finally {
    over.abort();
    void reader.cancel().catch(() => undefined);
  }
  return new TextDecoder().decode(Buffer.concat(parts).subarray(0, ANSWER_BYTES));
}

const LATE = { done: true, value: undefined } as const;

/**
 * Keeps Bun from choosing a proxy of the environment, which would look up names by itself. The
 * types of Bun do not know that `false` does.
 */
const DIRECT = false;
/** Faults after which nothing has reached the receiver. */
const UNCONNECTED = /^(ConnectionRefused|FailedToOpenSocket|ECONNREFUSED|EHOSTUNREACH|ENETUNREACH)$/;

/** The URL with an address in place of its host; undefined unless it then means that address. */
export function pin(target: URL, address: string): URL | undefined {
  const pinned = new URL(target);
  pinned.hostname = address.includes(":") ? `[${address.replace(/^\[|\]$/g, "")}]` : address;
  return parseAddress(pinned.hostname) === parseAddress(address) ? pinned : undefined;
}

function isName(host: string): boolean {
  return parseAddress(host) === undefined;
}

function outcomeOf(status: number): Attempted {
  if (status >= 200 && status < 300) return { status, error: "", isFinal: false };
  if (status >= 300 && status < 400) return { ...failed(`the receiver answered ${status}, a redirect, which is not followed`), status };
  return { status, error: `the receiver answered ${status}`, isFinal: status === GONE };
}

function failed(error: string): Attempted {
  return { status: 0, error, isFinal: false };
}

/** The code of an error of fetch; its message has the address, which may hold secrets. */
function faultOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : error instanceof Error ? error.name : "it failed";
}
