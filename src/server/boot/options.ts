/** Options of a server: its address, its data directory, its stores and limits. */

import type { Clock } from "../../context/clock.ts";
import type { CertificateFiles } from "../certificate.ts";
import type { Bus } from "../jobs/bus.ts";
import type { LogLevel } from "../log.ts";
import type { MetadataStore } from "../stores/metadata/store.ts";
import type { ObjectStore } from "../stores/objects/store.ts";
import type { TileStore } from "../stores/tiles/store.ts";

/** Options of `start`. */
export interface StartOptions {
  /** Address to bind; default 127.0.0.1. */
  readonly host?: string;
  /** Port; 0 = any free one. */
  readonly port: number;
  /**
   * Port for gRPC; 0 = any free one; default: the one after `port`, or any free one when that is in
   * use or `port` is 0.
   */
  readonly grpcPort?: number;
  /**
   * Port of the gateway to containers; 0 = any free one; default: the second one after `port`, or
   * any
   * free one when that is in use or `port` is 0.
   */
  readonly gatewayPort?: number;
  /** Absolute folder of all state. */
  readonly dataDir: string;
  /**
   * Addresses of stores outside the data directory by store name, such as `sqlite:/srv/svc/meta.db`
   * for `metadata`. They take precedence over the environment (`SVC_METADATA_STORE`) and
   * `server.yaml`.
   */
  readonly stores?: Readonly<Record<string, string>>;
  readonly logLevel?: LogLevel;
  /** Set all state of the data directory aside, into a folder in it, and begin with none. */
  readonly anew?: boolean;
  /** Give clients on this machine `/metrics` without a token. */
  readonly metricsOpen?: boolean;
  /** Serve only the pages for logging in. */
  readonly headless?: boolean;
  readonly clock: Clock;
  /** Environment variables of integrations, by name. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Writes a line of the log, which is one JSON object. */
  readonly log: (line: string) => void;
  /** Version shown by `GET /health`. */
  readonly version: string;
  /**
   * Permit a `host` that other machines reach although connections to it are not encrypted. Without
   * this and without `tls`, such a `host` is refused. Requests need a token or a browser session
   * wherever they come from.
   */
  readonly remote?: boolean;
  /**
   * Speak TLS at `host` and `port`, which other machines may then reach. This machine is also
   * served without TLS at a free port of 127.0.0.1, which is the server's `url`.
   */
  readonly tls?: CertificateFiles;
  /**
   * Absolute folder of releases to serve to everyone who can connect. With it, an address that
   * other machines reach may be bound; without `remote` or `tls` they get nothing but the releases.
   */
  readonly releases?: string;
  /**
   * Further names of the server as they appear in the Host header, for example that of a proxy in
   * front.
   */
  readonly allowedHosts?: readonly string[];
  /**
   * Absolute folder of virtual environments and of the Python SDK; default `$SVC_HOME`, else
   * `$HOME/.svc`, else the data directory.
   */
  readonly home?: string;
  /** Milliseconds without a query after which a branch's workers stop; default ten minutes. */
  readonly idleMs?: number;
  /** Milliseconds without a cell after which a notebook's kernel ends; default an hour. */
  readonly kernelIdleMs?: number;
  /**
   * Milliseconds without a request after which a scaling group has no replicas; default a minute.
   */
  readonly groupIdleMs?: number;
  /** Python workers of a deployment that answers queries; default: one for each core, at most 4. */
  readonly workers?: number;
  /**
   * Milliseconds that the server continues to serve after it was told to stop, while it reports
   * that it is not ready; default 0.
   */
  readonly drainMs?: number;
  /** The stores that this node shares with others; default: none. */
  readonly shared?: SharedStores;
}

/**
 * Stores that several nodes share, and the bus on which they announce changes. The caller closes
 * them, after the servers.
 */
export interface SharedStores {
  readonly metadata: MetadataStore;
  readonly objects: ObjectStore;
  readonly bus: Bus;
  /** Default: each node has tiles of its own, and a stream counts in those of one node. */
  readonly tiles?: TileStore;
}
