/** What a server is started with. */

import type { Clock } from "../../context/clock.ts";
import type { LogLevel } from "../log.ts";
import type { CertificateFiles } from "../wire/http/certificate.ts";

/** What a server is started with. */
export interface StartOptions {
  /** Address to bind; default 127.0.0.1. */
  readonly host?: string;
  /** Port; 0 = any free one. */
  readonly port: number;
  /** Absolute folder of all state. */
  readonly dataDir: string;
  /**
   * Stores that are not in the data directory: addresses by name, such as `sqlite:/srv/svc/meta.db`
   * for `metadata`. They go before those of the environment (`SVC_METADATA_STORE`) and of
   * `server.yaml`.
   */
  readonly stores?: Readonly<Record<string, string>>;
  readonly logLevel?: LogLevel;
  /** Set all state of the data directory aside, into a folder in it, and begin with none. */
  readonly anew?: boolean;
  /** Serve no pages but those of logging in. */
  readonly headless?: boolean;
  readonly clock: Clock;
  /** Environment variables of integrations, by name. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where log lines go, one JSON object each. */
  readonly log: (line: string) => void;
  /** Version shown by `GET /health`. */
  readonly version: string;
  /**
   * Says that an address which other machines reach is meant although nothing on the way to it is
   * encrypted. Without it, and without `tls`, such a `host` is refused. Everything needs a token or
   * a browser session, from wherever it comes.
   */
  readonly remote?: boolean;
  /**
   * Speak TLS at `host` and `port`, to other machines too. This machine is served without it as
   * well, at a free port of 127.0.0.1, which is the server's `url`.
   */
  readonly tls?: CertificateFiles;
  /**
   * Absolute folder of releases to serve to whoever can connect. With it, an address that other
   * machines reach may be bound: unless `remote` is set too, they get nothing but the releases.
   */
  readonly releases?: string;
  /**
   * Further names of the server, for example that of a proxy in front: as they stand in the Host
   * header.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Absolute folder of virtual environments and of the Python SDK; default `$SVC_HOME`, else
   * `$HOME/.svc`, else the data directory.
   */
  readonly home?: string;
  /** Milliseconds without a query after which a branch's workers stop; default ten minutes. */
  readonly idleMs?: number;
}
