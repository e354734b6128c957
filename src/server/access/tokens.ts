/** Access tokens: JWTs signed with HS256 and the server's own key, valid for an hour. */

import type { Clock } from "../../context/clock.ts";

/** Who calls, from a token that was verified or from a browser session. */
export interface Caller {
  /** The client's id. */
  readonly clientId: string;
  readonly teamId: string;
  readonly permissions: readonly string[];
  /** The browser session that calls for the client; undefined when the client calls itself. */
  readonly sessionId?: string | undefined;
}

/** Seconds that a token is valid. */
export const TOKEN_LIFETIME_S = 3600;

/** Why a token was refused. */
export class TokenRefused extends Error {
  override readonly name = "TokenRefused";
}

/** Issues and verifies tokens. Whether the client of a token still exists is not asked here, see `callers.ts`. */
export interface Tokens {
  issue(caller: Caller): Promise<string>;
  /** At once when the token is remembered. Rejects with TokenRefused that says whether it is expired or invalid. */
  verify(token: string): Caller | Promise<Caller>;
}

const ISSUER = "svc";
const AUDIENCE = "svc-api";
const REMEMBERED = 1000;

/** Makes the tokens of a server. Tokens that were verified are remembered until they expire, so that a busy client costs one verification. */
export function createTokens(options: { readonly key: Uint8Array; readonly clock: Clock }): Tokens {
  const { key, clock } = options;
  const verified = new Map<string, { readonly caller: Caller; readonly expiresAt: number }>();

  const verifyNow = async (token: string): Promise<Caller> => {
    const { errors, jwtVerify } = await import("jose");
    try {
      const { payload } = await jwtVerify(token, key, {
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
    async issue(caller) {
      const { SignJWT } = await import("jose");
      const issuedAt = Math.floor(clock.now() / 1000);
      return await new SignJWT({ team: caller.teamId, permissions: [...caller.permissions] })
        .setProtectedHeader({ alg: "HS256", typ: "JWT" })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject(caller.clientId)
        .setJti(crypto.randomUUID())
        .setIssuedAt(issuedAt)
        .setExpirationTime(issuedAt + TOKEN_LIFETIME_S)
        .sign(key);
    },
    verify(token) {
      const known = verified.get(token);
      return known && known.expiresAt > clock.now() ? known.caller : verifyNow(token);
    },
  };
}
