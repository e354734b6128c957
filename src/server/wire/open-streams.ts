/**
 * The streams that callers hold open. Who opened one was asked for credentials then; the stream
 * ends when these are gone or allow less, and a session or client has a bounded number of them.
 */

import type { Clock } from "../../context/clock.ts";
import { allowsAll } from "../../domain/permissions.ts";
import type { Callers } from "../access/callers.ts";
import type { Clients } from "../access/clients.ts";
import type { Caller } from "../access/tokens.ts";
import { Failure } from "../failure.ts";
import type { Bus } from "../jobs/bus.ts";

/** An open stream. */
export interface OpenStream {
  /** Aborted with a Failure when the stream has to end. */
  readonly signal: AbortSignal;
  /** Notes that it has ended. */
  close(): void;
}

/** The streams of a server. */
export interface OpenStreams {
  /**
   * Opens a stream; the oldest one of a session ends when it has too many. Throws Failure
   * resource_exhausted when a client that calls with tokens has too many.
   */
  open(caller: Caller, headers: Headers): OpenStream;
  /** Stops looking after streams. */
  close(): void;
}

/** Streams of one session: a browser keeps six connections to a host, and makes calls too. */
const MOST_OF_SESSION = 4;
/** Streams of one client that calls with tokens. */
const MOST_OF_CLIENT = 256;
/** Milliseconds between two looks whether callers are still there: notifications may be lost. */
const LOOK_MS = 15_000;

interface Held {
  readonly caller: Caller;
  readonly headers: Headers;
  readonly ended: AbortController;
}

/** Makes the streams of a server. */
export function createOpenStreams(options: {
  readonly callers: Pick<Callers, "still">;
  readonly clients: Pick<Clients, "forget">;
  readonly bus: Bus;
  readonly clock: Clock;
}): OpenStreams {
  const { callers, clients, bus, clock } = options;
  const held = new Set<Held>();
  const closing = new AbortController();
  let isLooking = false;

  const end = (stream: Held, reason: Failure): void => {
    held.delete(stream);
    stream.ended.abort(reason);
  };

  const look = async (stream: Held): Promise<void> => {
    const { caller, headers } = stream;
    const now = await callers.still(caller, headers);
    if (!now) end(stream, new Failure("unauthenticated", "The session or the client of the stream has ended.", { hint: "Log in again." }));
    else if (allowsLess(now, caller))
      end(stream, new Failure("aborted", "What the credentials allow has changed.", { hint: "Open the stream again." }));
  };
  /** Looks after some streams. What cannot be looked up now is looked up again later. */
  const lookAt = (isMeant: (stream: Held) => boolean): void => {
    for (const stream of held) if (isMeant(stream)) look(stream).catch(() => undefined);
  };
  const keepLooking = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    while (held.size > 0 && !closing.signal.aborted) {
      await clock.sleep(LOOK_MS, closing.signal).catch(() => undefined);
      lookAt(() => true);
    }
    isLooking = false;
  };

  const unsubscribe = [
    bus.subscribe("sessions", (id) => lookAt(({ caller }) => caller.sessionId !== undefined && (id === "" || caller.sessionId === id))),
    bus.subscribe("clients", (id) => {
      // A client may be limited by the one that changed, so all are looked up.
      if (id !== "") clients.forget(id);
      lookAt(() => true);
    }),
  ];

  return {
    open(caller, headers) {
      const own = [...held].filter((one) =>
        caller.sessionId === undefined
          ? one.caller.sessionId === undefined && one.caller.clientId === caller.clientId
          : one.caller.sessionId === caller.sessionId,
      );
      const [oldest] = own;
      if (caller.sessionId === undefined && own.length >= MOST_OF_CLIENT)
        throw new Failure("resource_exhausted", `The client has ${MOST_OF_CLIENT} streams open, which is the most.`, {
          hint: "End one that is not needed, or use another client.",
        });
      if (caller.sessionId !== undefined && oldest && own.length >= MOST_OF_SESSION)
        end(oldest, new Failure("resource_exhausted", "The session opened further streams, of which it has the newest few."));
      const stream: Held = { caller, headers, ended: new AbortController() };
      held.add(stream);
      void keepLooking();
      return { signal: stream.ended.signal, close: () => void held.delete(stream) };
    },
    close() {
      closing.abort();
      for (const stop of unsubscribe) stop();
    },
  };
}

/** Whether a caller may do less than before, or in fewer environments. */
function allowsLess(now: Caller, before: Caller): boolean {
  const reaches = (id: string): boolean => now.environments === undefined || now.environments.includes(id);
  if (before.environments === undefined ? now.environments !== undefined : !before.environments.every(reaches)) return true;
  return !allowsAll(now.permissions, before.permissions);
}
