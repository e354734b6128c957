/**
 * Tokens: the client ID and secret are exchanged for a JWT, which is kept in a private file per
 * server and client. One process at a time exchanges; the others wait and read its result.
 */

import { join } from "node:path";
import { describeSource } from "../config/resolve.ts";
import type { Setting } from "../config/settings.ts";
import type { Clock } from "../context/clock.ts";
import { DiskError } from "../disk/disk-error.ts";
import { readPrivateFile, writePrivateFile } from "../disk/private-file.ts";
import { AuthError } from "../errors/cli-error.ts";
import type { Session } from "./api.ts";
import type { Endpoint } from "./fetch.ts";

/** The result of a token exchange. */
export interface Exchanged {
  readonly accessToken: string;
  /** Lifetime in seconds. */
  readonly expiresIn: number;
  readonly primaryEnvironment: string | undefined;
  readonly engines: Readonly<Record<string, string>>;
}

/** The dependencies of the token cache. */
export interface TokenDeps {
  readonly clock: Clock;
  /** Folder of the cached tokens. */
  readonly cacheDir: string;
  readonly endpoint: Endpoint;
  readonly clientId: Setting;
  readonly clientSecret: Setting;
  readonly signal?: AbortSignal;
  exchange(clientId: string, clientSecret: string): Promise<Exchanged>;
  verbose(text: string): void;
}

/** Whether a text can be a bearer token in a header: visible ASCII, and not empty. */
export function isBearerToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/**
 * A token is not used in its last minute, or in the last tenth of its life when that is shorter.
 */
const MARGIN_MS = 60_000;
const FORMAT = 1;

interface Cached extends Session {
  readonly format: number;
  readonly secretHash: string;
}

/** Tokens of one server and client. */
export interface Tokens {
  /** A valid token: from memory, from the file, or from an exchange. */
  get(): Promise<Session>;
  /**
   * A token other than `refused`: one that another process got meanwhile, or that of a new
   * exchange.
   */
  renew(refused: Session): Promise<Session>;
}

/** The tokens of a client. Throws AuthError when there are no credentials. */
export function createTokens(deps: TokenDeps): Tokens {
  const { clientId, clientSecret } = deps;
  if (clientId.value === undefined || clientSecret.value === undefined) {
    throw new AuthError(
      clientId.value === undefined
        ? "you are not logged in"
        : `a client ID is set (${describeSource(clientId.source)}), but no client secret`,
    );
  }
  const credentials = { id: clientId.value, secret: clientSecret.value };
  const secretHash = sha256(`${deps.endpoint.url}\n${credentials.id}\n${credentials.secret}`);
  const path = cacheFile(deps.cacheDir, deps.endpoint.url, credentials.id);
  let current: Session | undefined;

  const isFresh = (session: Session | undefined): session is Session => session !== undefined && deps.clock.now() < session.refreshAt;
  const read = (): Session | undefined => {
    const text = readPrivateFile(path, { followLinks: false });
    const cached = text === undefined ? undefined : parseCached(text);
    return cached?.secretHash === secretHash ? cached : undefined;
  };
  const exchange = async (): Promise<Session> => {
    deps.verbose(`exchanging the client ID and secret at ${deps.endpoint.url}`);
    const exchanged = await deps.exchange(credentials.id, credentials.secret);
    const now = deps.clock.now();
    const lifetimeMs = exchanged.expiresIn * 1000;
    const session: Session = {
      accessToken: exchanged.accessToken,
      primaryEnvironment: exchanged.primaryEnvironment,
      engines: exchanged.engines,
      expiresAt: now + lifetimeMs,
      refreshAt: now + lifetimeMs - Math.min(MARGIN_MS, lifetimeMs / 10),
    };
    const cached: Cached = { ...session, format: FORMAT, secretHash };
    try {
      writePrivateFile(path, `${JSON.stringify(cached)}\n`);
    } catch (error) {
      if (!(error instanceof DiskError) || error.code === "symlink_refused") throw error;
      deps.verbose(`the token is not kept: ${error.message}`);
    }
    return session;
  };
  const locked = async (usable: (session: Session | undefined) => session is Session): Promise<Session> => {
    const fresh = async () => {
      const found = read();
      return usable(found) ? found : await exchange();
    };
    const canLock = await writable(deps.cacheDir);
    const { withFileLock } = await import("../disk/lock.ts");
    current = canLock
      ? await withFileLock(`${path.slice(0, -5)}.lock`, { what: "the token cache", signal: deps.signal }, fresh)
      : await fresh();
    return current;
  };

  return {
    async get() {
      if (isFresh(current)) return current;
      const found = read();
      if (isFresh(found)) {
        current = found;
        return found;
      }
      return locked(isFresh);
    },
    renew: (refused) => locked((found): found is Session => isFresh(found) && found.accessToken !== refused.accessToken),
  };
}

/** Removes the cached token of a client of a server. */
export async function forgetToken(cacheDir: string, server: string, clientId: string): Promise<void> {
  const { rm } = await import("node:fs/promises");
  await rm(cacheFile(cacheDir, server, clientId), { force: true });
}

function cacheFile(cacheDir: string, server: string, clientId: string): string {
  return join(cacheDir, `${sha256(`${server}\n${clientId}`).slice(0, 32)}.json`);
}

/** Removes every cached token; returns how many there were. */
export async function forgetTokens(cacheDir: string): Promise<number> {
  const { readdir, unlink } = await import("node:fs/promises");
  const names = await readdir(cacheDir).catch(() => [] as string[]);
  const tokens = names.filter((name) => /^[0-9a-f]{32}\.json$/.test(name));
  for (const name of tokens) await unlink(join(cacheDir, name));
  for (const name of names) if (/^\.[0-9a-f]{32}\.json\..*\.tmp$/.test(name)) await unlink(join(cacheDir, name)).catch(() => undefined);
  return tokens.length;
}

async function writable(folder: string): Promise<boolean> {
  const { access, constants, mkdir } = await import("node:fs/promises");
  return mkdir(folder, { recursive: true, mode: 0o700 })
    .then(() => access(folder, constants.W_OK))
    .then(
      () => true,
      () => false,
    );
}

function parseCached(text: string): Cached | undefined {
  try {
    const value = JSON.parse(text) as Partial<Cached>;
    const sound =
      value.format === FORMAT &&
      typeof value.accessToken === "string" &&
      isBearerToken(value.accessToken) &&
      typeof value.expiresAt === "number" &&
      typeof value.refreshAt === "number" &&
      typeof value.secretHash === "string" &&
      typeof value.engines === "object" &&
      value.engines !== null;
    return sound ? (value as Cached) : undefined;
  } catch {
    return undefined;
  }
}

function sha256(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
