/**
 * The server as commands see it: typed services and plain HTTP. Transport, tokens and retries stay
 * behind this interface.
 */

import type { Client } from "@connectrpc/connect";
import type { Services } from "../contract/services.ts";

/**
 * The services by name. A member loads the generated code and the transport on first use; calls
 * throw CliErrors.
 */
export type Api = { readonly [K in keyof Services]: () => Promise<Client<Services[K]>> };

/**
 * The result of a token exchange. The token is a secret, shown only by commands that exist to show
 * it.
 */
export interface Session {
  readonly accessToken: string;
  /** The environment that the credentials select by default. */
  readonly primaryEnvironment: string | undefined;
  /** Query server per environment id. */
  readonly engines: Readonly<Record<string, string>>;
  /** Epoch milliseconds at which the token ends. */
  readonly expiresAt: number;
  /** Epoch milliseconds from which the token is renewed. */
  readonly refreshAt: number;
}

/** The public health report of a server. */
export interface ServerHealth {
  readonly status: string;
  /** Empty when the server does not say. */
  readonly version: string;
  /**
   * Its process ID; undefined for a server on another machine, or of a version that does not say.
   */
  readonly pid: number | undefined;
  /**
   * Its clock at the time of the answer, in epoch milliseconds, truncated to the second; undefined
   * when it did not say.
   */
  readonly time: number | undefined;
}

/** The network path from this machine to the API server. */
export interface Route {
  /**
   * The proxy's address, without its password, and the variable that names it; undefined without a
   * proxy.
   */
  readonly proxy: string | undefined;
  /** What is wrong with the file that NODE_EXTRA_CA_CERTS names; undefined when nothing is. */
  readonly authoritiesFault: string | undefined;
}

/** A file that is to be there. */
export interface WantedFile {
  /** Where it is written; what is there already are its first bytes. */
  readonly path: string;
  readonly bytes: number;
  /** SHA-256, lower-case hex. */
  readonly sha256: string;
  /** Gets the number of bytes that are there so far. */
  readonly onReceived?: (bytes: number) => void;
}

/** An open WebSocket. */
export interface Socket {
  send(message: string | Uint8Array<ArrayBuffer>): void;
  /** The next message; undefined once it is closed. */
  receive(): Promise<string | Uint8Array | undefined>;
  close(): void;
}

/** Plain HTTP to the API server. */
export interface HttpClient {
  /** GET and PUT of signed addresses (relative ones are resolved against the API server). */
  download(url: string): Promise<Uint8Array>;
  /**
   * `onSent` gets the number of bytes handed to the network so far; it drops when the upload starts
   * over.
   */
  upload(url: string, body: Uint8Array, onSent?: (bytes: number) => void): Promise<void>;
  /**
   * GETs a file of any size and checks its digest; what the path holds already counts as its first
   * bytes, and stays when this fails.
   */
  downloadFile(url: string, file: WantedFile): Promise<void>;
  /** Opens a WebSocket at a path of the API server. Rejects with a CliError. */
  openSocket(path: string, headers: Readonly<Record<string, string>>): Promise<Socket>;
  /** A signed address in full. */
  addressOf(url: string): Promise<string>;
  /**
   * GETs a source bundle and unpacks it, safely, into a folder that does not exist yet; returns the
   * paths of its files. Rejects with a CliError when the folder exists or the bundle is damaged or
   * unsafe; nothing is left behind then.
   */
  downloadSource(url: string, folder: string): Promise<readonly string[]>;
  /**
   * `GET /health` of the API server, or of another one. Resolves with the report; rejects with a
   * CliError that says what was tried.
   */
  ping(server?: string): Promise<ServerHealth>;
  /**
   * The network path to the API server; opens no connection. Rejects with a CliError for a proxy
   * that svc cannot use.
   */
  route(): Promise<Route>;
  /**
   * The session of the settings' client ID and secret, cached between commands. Rejects with
   * AuthError without credentials or when they are refused.
   */
  session(): Promise<Session>;
  /**
   * Exchanges credentials that are not stored yet, bypassing the cache, at the API server or at
   * another one. Rejects with AuthError when they are refused.
   */
  checkCredentials(clientId: string, clientSecret: string, server?: string): Promise<Session>;
  /** Removes the cached token of a client of the API server. */
  forgetToken(clientId: string): Promise<void>;
  /** Removes all cached tokens of this user; returns how many. */
  forgetTokens(): Promise<number>;
}
