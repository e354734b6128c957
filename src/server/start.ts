/** The embedded server: `start(options)` takes everything it depends on and returns a running server. */

import type { Clock } from "../context/clock.ts";
import { loadServerKeys } from "./auth/keys.ts";
import { createLoginSessions } from "./auth/login-sessions.ts";
import { createTokens } from "./auth/tokens.ts";
import { type DataDirectory, holdDataDirectory } from "./data-directory.ts";
import { StartError } from "./failure.ts";
import { createFirstTenant } from "./first-tenant.ts";
import { createGuard, isLoopback } from "./http/guard.ts";
import { createObjectAddresses, MAX_OBJECT_BYTES } from "./http/objects.ts";
import type { ReleaseMirror } from "./http/releases.ts";
import { listen } from "./listener.ts";
import { createLog, type Log } from "./log.ts";
import { openParts } from "./parts.ts";
import type { Platform } from "./platform.ts";
import { createRouter } from "./router.ts";
import { explainDamage } from "./stores/sqlite/open.ts";
import { workerMemoryLimit } from "./worker-memory.ts";

export { readServerNote, type ServerNote } from "./data-directory.ts";
export { StartError, type StartErrorCode } from "./failure.ts";

/** Log levels of the server. */
export type LogLevel = "debug" | "info" | "warning" | "error";

/** What a server is started with. */
export interface StartOptions {
  /** Address to bind; default 127.0.0.1. */
  readonly host?: string;
  /** Port; 0 = any free one. */
  readonly port: number;
  /** Absolute folder of all state. */
  readonly dataDir: string;
  readonly logLevel?: LogLevel;
  /** Serve no dashboard pages other than the login page. */
  readonly headless?: boolean;
  readonly clock: Clock;
  /** Environment variables of integrations, by name. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where log lines go, one JSON object each. */
  readonly log: (line: string) => void;
  /** Version shown by `GET /health`. */
  readonly version: string;
  /**
   * Says that an address which other machines reach is meant. Without it such a `host` is refused. Calls need a token in any case; the dashboard and the login
   * page's buttons stay closed to other machines, and the traffic is not encrypted: put a TLS proxy in front.
   */
  readonly remote?: boolean;
  /**
   * Absolute folder of releases to serve to whoever can connect. With it, an address that other machines reach may be bound: unless `remote` is set too, they get
   * nothing but the releases.
   */
  readonly releases?: string;
  /** Further names that may stand in the Host header, for example that of a proxy. */
  readonly allowedHosts?: readonly string[];
  /** Absolute folder of virtual environments and of the Python SDK; default `$SVC_HOME`, else `$HOME/.svc`, else the data directory. */
  readonly home?: string;
  /** Milliseconds without a query after which a branch's workers stop; default ten minutes. */
  readonly idleMs?: number;
}

/** Credentials that a first start created; the secret exists in no other place. */
export interface InitialCredentials {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly environmentId: string;
}

/** A running server. */
export interface Server {
  /** For example `http://127.0.0.1:8080`. */
  readonly url: string;
  readonly port: number;
  /** Set when this start created the data directory. */
  readonly initialCredentials?: InitialCredentials;
  /** Resolves when the deployments that were live before run again. Queries need not wait for it. */
  readonly ready: Promise<void>;
  /** Stops taking requests, lets running ones end, closes the stores. */
  stop(): Promise<void>;
}

const RELEASES_ONLY =
  "Only releases are open to other machines, here: /install.sh, /install.ps1, /changelog.md, /latest/<file> and /releases/<version>/<file>.";

/** Milliseconds after which deployments are loaded unless a request wants them sooner, so that the first answers do not wait for it. */
const WARM_UP_AFTER_MS = 25;

/**
 * Starts a server. What has to do with queries and deployments is loaded behind the first answer.
 * @throws StartError when something is in the way; nothing was changed then
 */
export async function start(options: StartOptions): Promise<Server> {
  const host = options.host ?? "127.0.0.1";
  if (!isLoopback(host) && options.remote !== true && options.releases === undefined) {
    throw new StartError(
      "host_refused",
      `${host} can be reached from other machines, and the server speaks plain HTTP.`,
      "Bind 127.0.0.1 and let a TLS proxy forward to it. With --releases, other machines get the releases and nothing else.",
    );
  }
  workerMemoryLimit(options.env);
  const releases = options.releases === undefined ? undefined : (await import("./http/releases.ts")).openReleaseMirror(options.releases);
  const directory = holdDataDirectory(options.dataDir);
  try {
    return await startIn(directory, host, releases, options);
  } catch (error) {
    directory.release();
    throw explainDamage(directory.file("meta.db"), error);
  }
}

async function startIn(
  directory: DataDirectory,
  host: string,
  releases: ReleaseMirror | undefined,
  options: StartOptions,
): Promise<Server> {
  const { clock, version } = options;
  const log: Log = createLog({ write: options.log, clock, ...(options.logLevel ? { level: options.logLevel } : {}) });
  const keys = loadServerKeys(directory.file("server.key"));
  const tokens = createTokens({ key: keys.tokens, clock });
  const parts = openParts({ directory, options, log });
  const { metadata, objects } = parts;
  try {
    const initialCredentials = await createFirstTenant(metadata, clock.now());
    const listener = listen(host, options.port, 2 * MAX_OBJECT_BYTES);
    const platform: Platform = {
      clock,
      log,
      version,
      url: listener.url,
      headless: options.headless === true,
      releases,
      keys,
      tokens,
      loginSessions: createLoginSessions({ metadata, clock }),
      addresses: createObjectAddresses({ key: keys.objects, clock }),
      metadata,
      objects,
      online: parts.online,
      telemetry: parts.telemetry,
      deployments: parts.deployments,
    };
    const guard = createGuard({
      host,
      port: listener.port,
      allowedHosts: options.allowedHosts ?? [],
      othersRefused: isLoopback(host) || options.remote === true ? undefined : RELEASES_ONLY,
    });
    listener.serve(createRouter(platform, guard));
    directory.announce({ pid: process.pid, url: listener.url, version, startedAt: new Date(clock.now()).toISOString() });
    log.info("server started", { url: listener.url, data_directory: directory.path, version, pid: process.pid });

    let stopping: Promise<void> | undefined;
    const ready = Bun.sleep(WARM_UP_AFTER_MS)
      .then(() => (stopping ? undefined : parts.deployments()))
      .then((deployments) => deployments?.restored)
      .catch((error: unknown) => log.error("the deployments could not be restored", { error: String(error) }));
    const stop = async (): Promise<void> => {
      log.info("server stopping");
      await listener.drain();
      await parts.close();
      directory.release();
    };
    return {
      url: listener.url,
      port: listener.port,
      ...(initialCredentials ? { initialCredentials } : {}),
      ready,
      stop() {
        stopping ??= stop();
        return stopping;
      },
    };
  } catch (error) {
    await parts.close();
    throw error;
  }
}
