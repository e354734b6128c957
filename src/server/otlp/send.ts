/**
 * The requests with which a batch is sent to a collector: repeated as OTLP says, with the waits
 * that the collector asks for.
 */

import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { isLoopbackHost } from "../../domain/ip-address.ts";
import { backoffMs } from "../jobs/backoff.ts";
import { answerBytes, askedPauseMs, plain } from "../web-answer.ts";
import { otlpText, readOtlpText } from "./json-form.ts";
import type { ExportTls, SignalSettings } from "./settings.ts";

/** What became of a batch. */
export interface Sent {
  /** Whether the collector took it, but for what it rejected. */
  readonly isTaken: boolean;
  /** Records that the collector rejected, or all of a batch that it did not take. */
  readonly dropped: number;
  /** Why records were dropped, or what the collector wants to be known; empty = nothing. */
  readonly reason: string;
}

/** The messages of a signal. */
export interface SignalMessages<Q extends DescMessage, A extends DescMessage> {
  readonly request: Q;
  readonly answer: A;
  /** What an answer says was rejected. */
  rejected(answer: MessageShape<A>): { readonly count: bigint; readonly reason: string } | undefined;
}

/** Signals that end the sending. */
export interface SendingEnds {
  /** Ends waits: nothing is repeated from then on. */
  readonly repeats: AbortSignal;
  /** Ends requests too. */
  readonly all: AbortSignal;
}

const MAX_ATTEMPTS = 6;
/** Longest wait that a collector can ask for, milliseconds. */
const MAX_WAIT_MS = 300_000;
const MAX_ANSWER_BYTES = 64 * 1024;
/** Statuses after which OTLP has a request repeated. */
const REPEATED: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Sends a batch of a number of records. */
export async function send<Q extends DescMessage, A extends DescMessage>(
  messages: SignalMessages<Q, A>,
  message: MessageShape<Q>,
  records: number,
  settings: SignalSettings,
  ends: SendingEnds,
): Promise<Sent> {
  const isJson = settings.encoding === "json";
  const plainBody = isJson ? new TextEncoder().encode(otlpText(messages.request, message)) : toBinary(messages.request, message);
  const body = settings.isCompressed ? Bun.gzipSync(plainBody as Uint8Array<ArrayBuffer>) : plainBody;
  const headers = {
    ...settings.headers,
    "content-type": isJson ? "application/json" : "application/x-protobuf",
    ...(settings.isCompressed && { "content-encoding": "gzip" }),
  };
  const lost = (reason: string): Sent => ({ isTaken: false, dropped: records, reason });
  for (let attempt = 1; ; attempt++) {
    const answer = await ask(settings, headers, body as Uint8Array<ArrayBuffer>, ends.all);
    if ("bytes" in answer) {
      const rejected = readRejected(messages, answer.bytes, isJson);
      return { isTaken: true, dropped: Math.min(Number(rejected?.count ?? 0n), records), reason: plain(rejected?.reason ?? "") };
    }
    if (!answer.isRepeated || attempt >= MAX_ATTEMPTS) return lost(answer.reason);
    const isOver = await wait(answer.waitMs ?? backoffMs(attempt), ends.repeats);
    if (isOver) return lost(answer.reason);
  }
}

type Asked =
  | { readonly bytes: Uint8Array }
  | { readonly isRepeated: boolean; readonly waitMs: number | undefined; readonly reason: string };

async function ask(
  { timeoutMs, tls, url }: SignalSettings,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array<ArrayBuffer>,
  end: AbortSignal,
): Promise<Asked> {
  try {
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), end]);
    const direct = isLoopbackHost(new URL(url).hostname) ? { proxy: false } : {};
    const init = { method: "POST", headers, body, redirect: "manual", signal, ...direct, ...(tls && { tls: optionsOf(tls) }) };
    const answer = await fetch(url, init as unknown as RequestInit);
    const bytes = (await answerBytes(answer, MAX_ANSWER_BYTES)) ?? new Uint8Array(0);
    if (answer.status >= 200 && answer.status < 300) return { bytes };
    const reason = `the collector answered ${answer.status}`;
    const asked = askedPauseMs(answer.headers.get("retry-after"));
    return { isRepeated: REPEATED.has(answer.status), waitMs: asked === undefined ? undefined : Math.min(asked, MAX_WAIT_MS), reason };
  } catch (error) {
    return { isRepeated: true, waitMs: undefined, reason: `the collector cannot be reached: ${faultOf(error)}` };
  }
}

/** The options of a request; they hold whatever the process was told of certificates. */
function optionsOf({ authorities, own }: ExportTls): Bun.TLSOptions {
  return { rejectUnauthorized: true, ...(authorities !== undefined && { ca: authorities }), ...own };
}

/** What an answer says was rejected; one that cannot be read says nothing. */
function readRejected<Q extends DescMessage, A extends DescMessage>(messages: SignalMessages<Q, A>, bytes: Uint8Array, isJson: boolean) {
  try {
    const { answer } = messages;
    return messages.rejected(isJson ? readOtlpText(answer, new TextDecoder().decode(bytes) || "{}") : fromBinary(answer, bytes));
  } catch {
    return undefined;
  }
}

/** Waits; true when that was ended. */
function wait(ms: number, end: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (end.aborted) return resolve(true);
    const ended = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    const timer = setTimeout(() => {
      end.removeEventListener("abort", ended);
      resolve(false);
    }, ms);
    end.addEventListener("abort", ended, { once: true });
  });
}

/** The code of an error of fetch; its message may have the address. */
function faultOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : error instanceof Error ? error.name : "it failed";
}
