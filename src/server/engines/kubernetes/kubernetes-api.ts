/**
 * The API of Kubernetes over HTTPS: calls, lists by pages, watches, and what a connection needs.
 */

import { errorText } from "../../../domain/error-text.ts";
import { isJsonObject, type JsonObject } from "../../../domain/json-value.ts";
import { Failure, type FailureKind } from "../../failure.ts";
import type { ClusterAccess, Credentials } from "./cluster-access.ts";

/** Longest wait for an answer that is no stream. */
const ANSWER_MS = 60_000;
/** Most bytes of an answer, and of a line of a watch. */
const MAX_ANSWER = 64 * 1024 * 1024;
const MAX_WORDS = 1_000;
/** Objects of a page of a list, and most of all. */
const PAGE = 500;
const MOST_LISTED = 50_000;
/** Seconds after which the server ends a watch; without a word for longer, it is given up. */
const WATCH_SECONDS = 300;
/** Times that a call is made again which the server had no room for, and the longest pause. */
const AGAIN = 3;
const LONGEST_PAUSE_MS = 5_000;

const KINDS: Readonly<Record<number, FailureKind>> = {
  400: "invalid_argument",
  401: "failed_precondition",
  403: "failed_precondition",
  404: "not_found",
  405: "failed_precondition",
  409: "already_exists",
  410: "aborted",
  413: "invalid_argument",
  422: "invalid_argument",
};
const HINTS: Readonly<Record<number, string>> = {
  401: "The credentials of the server's kubeconfig, or of its service account, do not count there any more.",
  403: "The guide `Containers, sandboxes and volumes` has the rules that the server's account needs.",
};

/** A refusal of the API server. */
export class ApiRefusal extends Failure {
  constructor(
    readonly status: number,
    words: string,
  ) {
    const hint = HINTS[status];
    super(KINDS[status] ?? "unavailable", `Kubernetes refused: ${words || `status ${status}`}.`, hint === undefined ? {} : { hint });
  }
}

/** Whether a call failed because there is no such thing. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiRefusal && error.status === 404;
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

/** How a call is made. */
export interface ApiCall {
  readonly method?: "GET" | "POST" | "DELETE" | "PATCH";
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly json?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until it is given up; default a minute; 0 = never. */
  readonly timeoutMs?: number;
}

/** What objects have in common. */
export interface Described {
  readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
}

/** What a watch tells. */
export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK";
  readonly object: T;
}

/** The API of one cluster. */
export interface KubernetesApi {
  readonly access: ClusterAccess;
  /** The answer to a call. Rejects with ApiRefusal, or Failure when nobody answers. */
  call(path: string, call?: ApiCall): Promise<Response>;
  /** The answer as JSON. Rejects with Failure. */
  json<T = JsonObject>(path: string, call?: ApiCall): Promise<T>;
  /** All objects of a kind, by pages. Rejects with Failure. */
  list<T extends Described>(
    path: string,
    query: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<{ readonly items: readonly T[]; readonly version: string }>;
  /**
   * Changes after a version, until the server ends the watch. Throws ApiRefusal with status 410
   * when it does not have what followed that version any more.
   */
  watch<T extends Described>(
    path: string,
    query: Readonly<Record<string, string>>,
    version: string,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>>;
}

/** Makes the API. */
export function createKubernetesApi(access: ClusterAccess): KubernetesApi {
  const attempt = async (url: string, { method = "GET", json }: ApiCall, signal: AbortSignal, areRefused: boolean): Promise<Response> => {
    const credentials = await access.credentials(areRefused);
    try {
      return await fetch(url, {
        ...{ method, proxy: "", redirect: "error", signal, tls: tlsOf(credentials) },
        headers: {
          ...{ accept: "application/json", ...authorization(credentials) },
          ...(json !== undefined && {
            "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
          }),
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      });
    } catch (error) {
      throw new Failure("unavailable", `The Kubernetes API at ${access.server} does not answer: ${errorText(error)}.`, {
        hint: "`svc clusters test` tries it; the address is that of the kubeconfig's context, or of the cluster that the server runs in.",
      });
    }
  };

  const call: KubernetesApi["call"] = async (path, options = {}) => {
    const { query = {}, signal, timeoutMs = ANSWER_MS } = options;
    const url = addressOf(access, path, query);
    const signals = [...(signal ? [signal] : []), ...(timeoutMs > 0 ? [AbortSignal.timeout(timeoutMs)] : [])];
    const either = AbortSignal.any(signals);
    for (let tries = 1; ; tries++) {
      let response: Response;
      try {
        response = await attempt(url, options, either, false);
        // A token may have been replaced since it was read.
        if (response.status === 401) {
          await response.body?.cancel();
          response = await attempt(url, options, either, true);
        }
      } catch (error) {
        signal?.throwIfAborted();
        throw error;
      }
      if (response.ok) return response;
      const words = wordsOf(await boundedText(response));
      const pauseMs = Number(response.headers.get("retry-after") ?? Number.NaN) * 1000;
      if (response.status !== 429 || tries > AGAIN || !(pauseMs <= LONGEST_PAUSE_MS)) throw new ApiRefusal(response.status, words);
      await Bun.sleep(pauseMs);
    }
  };

  const json = async <T>(path: string, options?: ApiCall): Promise<T> => {
    const said = await boundedText(await call(path, options));
    try {
      return JSON.parse(said) as T;
    } catch {
      throw new Failure("unavailable", `What answers at ${access.server} is no Kubernetes: its answer is no JSON.`);
    }
  };

  return {
    access,
    call,
    json,

    async list<T extends Described>(path: string, query: Readonly<Record<string, string>>, signal?: AbortSignal) {
      const items: T[] = [];
      let next: string | undefined;
      for (;;) {
        const page = await json<{ items?: T[] | null; metadata?: { continue?: string; resourceVersion?: string } }>(path, {
          query: { ...query, limit: String(PAGE), continue: next },
          signal,
        });
        for (const item of page.items ?? []) items.push(item);
        next = page.metadata?.continue || undefined;
        if (next === undefined) return { items, version: page.metadata?.resourceVersion ?? "" };
        if (items.length >= MOST_LISTED) throw new Failure("unavailable", `There are more than ${MOST_LISTED} objects at ${path}.`);
      }
    },

    async *watch<T extends Described>(path: string, query: Readonly<Record<string, string>>, version: string, signal: AbortSignal) {
      const silence = new AbortController();
      const awake = (): ReturnType<typeof setTimeout> =>
        setTimeout(() => silence.abort(new Failure("unavailable", "A watch was silent.")), (WATCH_SECONDS + 60) * 1000);
      let timer = awake();
      try {
        const response = await call(path, {
          query: { ...query, watch: "1", allowWatchBookmarks: "true", resourceVersion: version, timeoutSeconds: String(WATCH_SECONDS) },
          signal: AbortSignal.any([signal, silence.signal]),
          timeoutMs: 0,
        });
        for await (const line of linesIn(response)) {
          clearTimeout(timer);
          timer = awake();
          const event = JSON.parse(line) as { type: string; object: T & { code?: number; message?: string } };
          if (event.type === "ERROR") throw new ApiRefusal(event.object.code ?? 500, wordsIn(event.object.message));
          yield event as WatchEvent<T>;
        }
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** The address of a path of the API. */
export function addressOf(
  { server }: Pick<ClusterAccess, "server">,
  path: string,
  query: Readonly<Record<string, string | undefined>> | URLSearchParams = {},
): string {
  const given =
    query instanceof URLSearchParams
      ? query
      : new URLSearchParams(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined));
  return given.size > 0 ? `${server}${path}?${given}` : `${server}${path}`;
}

/** The fields of a head that say who calls. */
export function authorization({ token }: Credentials): Readonly<Record<string, string>> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

/** How a connection is secured. */
export function tlsOf({ ca, certificate }: Credentials): { ca?: string; cert?: string; key?: string } {
  return { ...(ca !== undefined && { ca }), ...certificate };
}

/** Lines of a stream, each of a bounded length. */
async function* linesIn({ body }: Response): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let begun = "";
  for await (const piece of body ?? []) {
    const [first = "", ...others] = decoder.decode(piece, { stream: true }).split("\n");
    begun += first;
    for (const next of others) {
      if (begun !== "") yield begun;
      begun = next;
    }
    if (begun.length > MAX_ANSWER) throw new Failure("unavailable", "A line of a watch has no end.");
  }
}

/** What a status says, in one line without a point at its end. */
export function wordsOf(text: string): string {
  try {
    const status: unknown = JSON.parse(text);
    if (isJsonObject(status) && typeof status.message === "string") return wordsIn(status.message);
  } catch {
    // What stands before an API server may answer in plain words.
  }
  return wordsIn(text);
}

/** Words in one line of a bounded length, without a point at their end. */
export function wordsIn(text: string | undefined): string {
  return (text ?? "").replaceAll(/\s+/g, " ").trim().replace(/\.$/, "").slice(0, MAX_WORDS);
}

async function boundedText(response: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += piece.length;
    if (size > MAX_ANSWER) throw new Failure("unavailable", "An answer of the Kubernetes API is too long to be read.");
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
