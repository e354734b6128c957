/** Requests as the listener passes them on. */

import type { SocketHandler } from "./socket.ts";

/** Facts about a request's connection that the listener knows. */
export interface Connection {
  /** Address of the peer; absent when it is this process. */
  readonly peer?: () => string | undefined;
  /** Whether the connection is over TLS to this server itself. */
  readonly encrypted?: boolean;
  /** Removes the idle timeout of the request. */
  readonly unhurried?: () => void;
  /**
   * Makes a WebSocket of the request, which is answered with a Response of status 101 then; false
   * when it is none for that. Absent where there are none.
   * @param protocol one that the client offered; absent when it offered none
   */
  readonly upgrade?: (handler: SocketHandler, protocol?: string) => boolean;
}

/** A handler of HTTP requests. Never rejects. */
export type FetchHandler = (request: Request, connection?: Connection) => Promise<Response>;
