/** Requests as the listener hands them on. */

/** What the listener knows of a request beside the request. */
export interface Connection {
  /** Address of the other side; undefined when it is this process. */
  readonly peer?: () => string | undefined;
  /** Whether it came over TLS to this server itself. */
  readonly encrypted?: boolean;
  /** Lets a request take as long as it needs. */
  readonly unhurried?: () => void;
}

/** Answers requests. Never rejects. */
export type FetchHandler = (request: Request, connection?: Connection) => Promise<Response>;
