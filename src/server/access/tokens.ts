/**
 * Access tokens: JWTs signed with HS256 and the server's keys, valid for an hour. Their header
 * names the key.
 */

import type { Clock } from "../../context/clock.ts";
import { currentKey, type KeyRing, keyNamed } from "./keys.ts";

/** The caller of a request, from a verified token or a browser session. */
export interface Caller {
  /** The client's id. */
  readonly clientId: string;
  readonly teamId: string;
  readonly permissions: readonly string[];
  /** Ids of the environments that it is limited to; undefined = all of the team's. */
  readonly environments?: readonly string[] | undefined;
  /** When its credentials end, epoch milliseconds; undefined = they do not. */
  readonly expiresAt?: number | undefined;
  /**
   * Id of the browser session that acts for the client; undefined when the client calls with a
   * token.
   */
  readonly sessionId?: string | undefined;
  /** Whom the client acts for, when that is somebody else than itself; see `personOf`. */
  readonly personId?: string | undefined;
  /** Whether it is a person whom an identity provider named. */
  readonly isPerson?: boolean | undefined;
  /**
   * Whether its credentials end because a person's login does, which the person repeats, and not
   * because they were given for a time.
   */
  readonly endsWithLogin?: boolean | undefined;
}

/**
 * Whom a caller acts for: two callers with one answer are no second pair of eyes for each other.
 */
export function personOf({ personId, clientId }: Pick<Caller, "personId" | "clientId">): string {
  return personId ?? clientId;
}

/** Seconds that a token is valid. */
export const TOKEN_LIFETIME_S = 3600;

/** A token was refused; the message says whether it is expired or invalid. */
export class TokenRefused extends Error {
  override readonly name = "TokenRefused";
}

/**
 * The tokens of a server. Whether the client of a token still exists is checked in `callers.ts`.
 */
export interface Tokens {
  /** A token of a caller, valid for `lifetimeS` seconds; default: `TOKEN_LIFETIME_S`. */
  issue(caller: Caller, lifetimeS?: number): Promise<string>;
  /**
   * The caller of a token, without a promise when the token is remembered. Rejects with
   * TokenRefused.
   */
  verify(token: string): Caller | Promise<Caller>;
  /** The caller of a token that was verified before; undefined = it is not remembered. */
  remembered(token: string): Caller | undefined;
}

const ISSUER = "svc";
const AUDIENCE = "svc-api";
const REMEMBERED = 1000;

/**
 * Makes the tokens of a server. Verified tokens are remembered until they expire, so that a busy
 * client costs one verification.
 */
export function createTokens(options: { readonly keys: KeyRing; readonly clock: Clock }): Tokens {
  const { keys, clock } = options;
  const verified = new Map<string, { readonly caller: Caller; readonly expiresAt: number }>();

  const verifyNow = async (token: string): Promise<Caller> => {
    const { errors, jwtVerify } = await import("jose");
    const secretOf = ({ kid }: { readonly kid?: string }): Uint8Array => {
      const key = keyNamed(keys, kid);
      if (!key) throw new errors.JWKSNoMatchingKey();
      return key.secret;
    };
    try {
      const { payload } = await jwtVerify(token, secretOf, {
        algorithms: ["HS256"],
        issuer: ISSUER,
        audience: AUDIENCE,
        requiredClaims: ["sub", "exp", "team", "permissions"],
        currentDate: new Date(clock.now()),
      });
      const permissions = Array.isArray(payload.permissions) ? payload.permissions.map(String) : [];
      const caller = { clientId: String(payload.sub), teamId: String(payload.team), permissions };
      if (verified.size >= REMEMBERED) verified.clear();
      verified.set(token, { caller, expiresAt: Number(payload.exp) * 1000 });
      return caller;
    } catch (error) {
      verified.delete(token);
      if (error instanceof errors.JWTExpired) throw new TokenRefused("The access token has expired.");
      if (error instanceof errors.JOSEError) throw new TokenRefused("The access token is not valid on this server.");
      throw error;
    }
  };

  return {
    async issue(caller, lifetimeS = TOKEN_LIFETIME_S) {
      const { SignJWT } = await import("jose");
      const issuedAt = Math.floor(clock.now() / 1000);
      const { id, secret } = currentKey(keys);
      return await new SignJWT({ team: caller.teamId, permissions: [...caller.permissions] })
        .setProtectedHeader({ alg: "HS256", typ: "JWT", kid: id })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(caller.clientId)
        .setJti(crypto.randomUUID())
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + lifetimeS)
        .sign(secret);
    },
    remembered: (token) => verified.get(token)?.caller,
    verify(token) {
      const known = verified.get(token);
      return known && known.expiresAt > clock.now() ? known.caller : verifyNow(token);
    },
  };
}
