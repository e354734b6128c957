/**
 * What commands know of the server: typed services and plain HTTP. Everything about transport,
 * tokens and retries stays behind it.
 */

import type { Client } from "@connectrpc/connect";
import type { Services } from "../contract/services.ts";

/**
 * The services by name. A member resolves the generated code and the transport on first use; calls
 * throw CliErrors.
 */
export type Api = { readonly [K in keyof Services]: () => Promise<Client<Services[K]>> };

/**
 * What a token exchange gave. The token is a secret: it is never shown but where it is asked for.
 */
export interface Session {
  readonly accessToken: string;
  /** Environment that the credentials select by themselves. */
  readonly primaryEnvironment: string | undefined;
  /** Query server per environment id. */
  readonly engines: Readonly<Record<string, string>>;
  /** Epoch milliseconds at which the token ends. */
  readonly expiresAt: number;
  /** Epoch milliseconds from which on it is exchanged anew. */
  readonly refreshAt: number;
}

/** What a server says of itself to whoever asks. */
export interface ServerHealth {
  readonly status: string;
  /** Empty when it says none. */
  readonly version: string;
  /** Its process; undefined when it is on another machine, or of a version that did not say it. */
  readonly pid: number | undefined;
  /**
   * Its clock when it answered, in epoch milliseconds, cut to the second; undefined when it did not
   * say.
   */
  readonly time: number | undefined;
}

/** What lies between this machine and the API server. */
export interface Route {
  /**
   * The proxy and the variable that names it, without its password; undefined when there is none.
   */
  readonly proxy: string | undefined;
  /** What is wrong with the file that NODE_EXTRA_CA_CERTS names. */
  readonly authoritiesFault: string | undefined;
}

/** Plain HTTP to the API server. */
export interface HttpClient {
  /** GET and PUT of signed addresses (relative ones are resolved against the API server). */
  download(url: string): Promise<Uint8Array>;
  /**
   * `onSent` is told how many bytes were handed to the network; fewer than before when the upload
   * begins anew.
   */
  upload(url: string, body: Uint8Array, onSent?: (bytes: number) => void): Promise<void>;
  /**
   * GETs a source bundle and unpacks it, safely, into a folder that does not exist yet; returns the
   * paths of its files. Rejects with a CliError when the folder exists or the bundle is damaged or
   * unsafe; nothing is left behind then.
   */
  downloadSource(url: string, folder: string): Promise<readonly string[]>;
  /**
   * `GET /health` of the API server, or of another one; resolves with what it said, rejects with a
   * CliError that says what was tried.
   */
  ping(server?: string): Promise<ServerHealth>;
  /**
   * How the API server is reached; dials nothing. Rejects with a CliError for a proxy that svc
   * cannot use.
   */
  route(): Promise<Route>;
  /**
   * The session of the settings' client ID and secret, cached between commands. Rejects with
   * AuthError without credentials or when they are refused.
   */
  session(): Promise<Session>;
  /**
   * Exchanges credentials that are not stored yet, past the cache, at the API server or at another
   * one. Rejects with AuthError when they are refused.
   */
  checkCredentials(clientId: string, clientSecret: string, server?: string): Promise<Session>;
  /** Removes the cached token of a client of the API server. */
  forgetToken(clientId: string): Promise<void>;
  /** Removes all cached tokens of this user; returns how many. */
  forgetTokens(): Promise<number>;
}
