/** Calls of other systems over HTTP, bounded in time and size, that follow no redirect. */

import { answerBytes, jsonObject, plain } from "../web-answer.ts";

/** A call that did not come to what it should: the reason, for the user. */
export class ProbeFailed extends Error {
  override readonly name = "ProbeFailed";
}

/** A request of a probe. */
export interface WebCall {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** Most bytes of an answer that are read. */
const MAX_ANSWER_BYTES = 64 * 1024;

/**
 * The body of a successful answer. Throws ProbeFailed with the network's reason, or with the status
 * and the reason that the answer's JSON or XML gives. Nothing else of a refusal is passed on: the
 * address may be one that the caller could not read.
 */
export async function callWeb(url: URL, { method = "GET", headers = {}, body, signal }: WebCall): Promise<string> {
  let answer: Response;
  try {
    answer = await fetch(url, { method, headers: { ...headers }, redirect: "manual", signal, ...(body !== undefined && { body }) });
  } catch (error) {
    signal.throwIfAborted();
    throw new ProbeFailed(`${url.host} cannot be reached: ${error instanceof Error ? error.message : String(error)}`);
  }
  const text = await readSome(answer, url);
  if (answer.status >= 300 && answer.status < 400)
    throw new ProbeFailed(`${url.host} answered ${answer.status}, and credentials are not sent on to another address`);
  if (!answer.ok) throw new ProbeFailed(`${url.host} answered ${answer.status}${reasonIn(text)}`);
  return text;
}

/**
 * The JSON object of a successful answer. Throws ProbeFailed like `callWeb`, or when it is none.
 */
export async function callJson(url: URL, call: WebCall): Promise<Readonly<Record<string, unknown>>> {
  const parsed = jsonObject(await callWeb(url, call));
  if (!parsed) throw new ProbeFailed(`${url.host} answered something else than JSON`);
  return parsed;
}

async function readSome(answer: Response, { host }: URL): Promise<string> {
  let bytes: Uint8Array | undefined;
  try {
    bytes = await answerBytes(answer, MAX_ANSWER_BYTES);
  } catch (error) {
    if (error instanceof Error && error.name === "TimeoutError") throw error;
    throw new ProbeFailed(`${host} broke off its answer`);
  }
  if (bytes === undefined) throw new ProbeFailed(`${host} answered more than ${MAX_ANSWER_BYTES / 1024} KiB`);
  return Buffer.from(bytes).toString("utf8");
}

/**
 * The reason in the JSON or XML of a refusal, in the forms that APIs use; empty when there is none.
 */
function reasonIn(text: string): string {
  const [, code] = /<Code>(\w{1,100})<\/Code>/.exec(text) ?? [];
  if (code !== undefined) return `: ${plain([code, /<Message>([^<]*)<\/Message>/.exec(text)?.[1] ?? ""].join(" "))}`;
  const answer = jsonObject(text);
  const error = answer?.error;
  const nested = typeof error === "object" && error !== null ? (error as Record<string, unknown>).message : error;
  const words = [nested, answer?.error_description, answer?.message, answer?.Message].find((one) => typeof one === "string" && one !== "");
  return typeof words === "string" ? `: ${plain(words)}` : "";
}
