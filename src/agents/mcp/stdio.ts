/** The Model Context Protocol on the process's streams: one message on each line. */

import type { Io } from "../../context/io.ts";
import { FollowedResources } from "../../domain/mcp/followed-resources.ts";
import { errorMessage, type Fields, isFields, parsed, RPC_CODES, RpcError, type RpcId } from "../../domain/mcp/json-rpc.ts";
import { answerMessage, changeMessage, type Offer } from "../../domain/mcp/protocol.ts";
import { pulse } from "../../domain/mcp/pulse.ts";

/** Longest line that is read, in bytes. */
const MAX_LINE_BYTES = 1024 * 1024;
/** Most requests that are worked on at a time; the next line is read when one has ended. */
const MAX_RUNNING = 8;
/** Most subscriptions, which do not end by themselves. */
const MAX_SUBSCRIPTIONS = 8;

/** What is being worked on. */
interface Work {
  readonly id: RpcId | undefined;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/**
 * Serves the program that started this one, until it closes stdin; then what was asked for is
 * answered. Rejects when stdout cannot be written.
 */
export async function serveStdio(io: Pick<Io, "readChunk" | "writeOut">, offer: Offer, signal: AbortSignal): Promise<void> {
  let writing: Promise<void> = Promise.resolve();
  const [running, subscriptions] = [new Map<symbol, Work>(), new Map<symbol, Work>()];
  const ended = new AbortController();
  const followed = new FollowedResources();
  let isFollowed = false;
  const send = (message: Fields): Promise<void> => {
    writing = writing.then(() => io.writeOut(`${JSON.stringify(message)}\n`));
    return writing;
  };
  const begin = (line: string): void => {
    let message: unknown;
    try {
      message = parsed(line);
    } catch (error) {
      send(errorMessage(null, error as RpcError)).catch(() => undefined);
      return;
    }
    const cancelled = cancelledId(message);
    if (cancelled !== undefined) {
      for (const { id, abort } of [...running.values(), ...subscriptions.values()]) if (id === cancelled) abort.abort();
      return;
    }
    if (isInitialized(message) && !isFollowed) {
      isFollowed = true;
      follow().catch(() => undefined);
    }
    const isSubscription = isFields(message) && message.method === "subscriptions/listen";
    const place = isSubscription ? subscriptions : running;
    const [key, abort] = [Symbol(), new AbortController()];
    const id = isFields(message) ? (message.id as RpcId | undefined) : undefined;
    if (isSubscription && subscriptions.size >= MAX_SUBSCRIPTIONS) {
      const refused = new RpcError(RPC_CODES.invalidRequest, `There are ${MAX_SUBSCRIPTIONS} subscriptions, which is the most.`);
      send(errorMessage(id ?? null, refused)).catch(() => undefined);
      return;
    }
    const link = {
      signal: AbortSignal.any([signal, ended.signal, abort.signal]),
      notify: (notification: Fields) => void (abort.signal.aborted || send(notification).catch(() => undefined)),
      pulse,
      followed,
    };
    const work = async () => {
      const answer = await answerMessage(
        offer,
        message,
        isSubscription ? link : { ...link, signal: AbortSignal.any([signal, abort.signal]) },
      );
      if (answer && !abort.signal.aborted) await send(answer.message);
    };
    const done = work().finally(() => place.delete(key));
    done.catch(() => undefined);
    place.set(key, { id, abort, done });
  };
  /** Tells a client that began with a handshake what it did not ask for. */
  const follow = async (): Promise<void> => {
    for await (const change of offer.resourceChanges(followed, AbortSignal.any([signal, ended.signal]))) await send(changeMessage(change));
  };
  for await (const line of linesOf(io)) {
    if (line === TOO_LONG) await send(errorMessage(null, tooLong()));
    else if (line.trim() !== "") begin(line);
    while (running.size >= MAX_RUNNING) await Promise.race([...running.values()].map(({ done }) => done));
    signal.throwIfAborted();
  }
  await Promise.all([...running.values()].map(({ done }) => done));
  ended.abort();
  await Promise.all([...subscriptions.values()].map(({ done }) => done));
  await writing;
}

/** Whether a message says that a handshake is over. */
function isInitialized(message: unknown): boolean {
  return isFields(message) && message.method === "notifications/initialized";
}

function tooLong(): RpcError {
  return new RpcError(RPC_CODES.invalidRequest, `The message is longer than ${MAX_LINE_BYTES} bytes.`, undefined, true);
}

/** The id of the request that a notification cancels; undefined for other messages. */
function cancelledId(message: unknown): RpcId | undefined {
  if (!isFields(message) || message.method !== "notifications/cancelled" || !isFields(message.params)) return undefined;
  return message.params.requestId as RpcId | undefined;
}

/** What stands for a line that was too long to be read. */
const TOO_LONG = Symbol("too long");

async function* linesOf(io: Pick<Io, "readChunk">): AsyncGenerator<string | typeof TOO_LONG> {
  const NEWLINE = 0x0a;
  let parts: Uint8Array[] = [];
  let length = 0;
  const add = (part: Uint8Array): void => {
    length += part.length;
    if (length > MAX_LINE_BYTES) parts = [];
    else parts.push(part);
  };
  const take = (): string | typeof TOO_LONG => {
    const line = length > MAX_LINE_BYTES ? TOO_LONG : Buffer.concat(parts).toString("utf8");
    parts = [];
    length = 0;
    return line;
  };
  for (let chunk = await io.readChunk(); chunk !== undefined; chunk = await io.readChunk()) {
    for (let at = 0; at < chunk.length; ) {
      const end = chunk.indexOf(NEWLINE, at);
      add(chunk.subarray(at, end < 0 ? chunk.length : end));
      if (end < 0) break;
      yield take();
      at = end + 1;
    }
  }
  if (length > 0) yield take();
}
