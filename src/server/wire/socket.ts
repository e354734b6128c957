/** WebSockets as the listener passes them on. */

/** The peer of an open WebSocket. */
export interface SocketPeer {
  /** Sends a message; what cannot be sent yet waits in memory. */
  send(message: string | Uint8Array): void;
  /** Bytes that wait. */
  waiting(): number;
  /** Closes it, with what waits sent before. */
  close(code: number, reason: string): void;
}

/** What becomes of an open WebSocket. No method throws. */
export interface SocketHandler {
  opened(peer: SocketPeer): void;
  received(message: string | Uint8Array): void;
  /** Some of what waited was sent. */
  drained(): void;
  closed(): void;
}

/** Longest message of a client, in bytes; a longer one ends the connection. */
export const MAX_MESSAGE = 64 * 1024;
