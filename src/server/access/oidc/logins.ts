/**
 * Logins at an identity provider by OpenID Connect: the authorization code flow with PKCE. What a
 * login needs to be finished is in the metadata store, so that any node can finish it, and bound to
 * the browser by a cookie. A person is a client without a secret, whose role follows the groups
 * that the provider states at each login.
 */

import type { Clock } from "../../../context/clock.ts";
import type { RoleName } from "../../../domain/permissions.ts";
import { Failure } from "../../failure.ts";
import type { Log } from "../../log.ts";
import type { IdentityStore } from "../../stores/metadata/identity.ts";
import type { SessionStore } from "../../stores/metadata/sessions.ts";
import { plain } from "../../web-answer.ts";
import { type BrowserSessions, pagePath } from "../browser-sessions.ts";
import { type Clients, callerOf } from "../clients.ts";
import type { Sealer } from "../sealing.ts";
import { hashSecret, newCode, newSecret } from "../secrets.ts";
import { createDiscovery } from "./discovery.ts";
import type { CodeToExchange } from "./exchange.ts";
import { type Person, personFrom } from "./person.ts";
import { CALL_MS } from "./provider-call.ts";
import { grantOf, unknownEnvironments } from "./roles.ts";
import type { OidcSettings } from "./settings.ts";

/** Milliseconds that a browser may be away at the provider. */
export const PROVIDER_LOGIN_MS = 600_000;
/** Most browsers that are away at the same time, per address and in all: anyone may be sent. */
const MOST_OF_ADDRESS = 50;
const MOST = 1000;
const MOST_STATE_CHARACTERS = 100;

/** A browser that is sent to the provider. */
export interface SentBrowser {
  /** The provider's page. */
  readonly url: string;
  /** The state that the provider sends back. */
  readonly state: string;
  /** Value of the cookie that the browser has to come back with. */
  readonly cookie: string;
}

/** A browser that came back. */
export interface ReturnedBrowser {
  /** The query of the address that it came back to. */
  readonly query: URLSearchParams;
  /** The value of the cookie that belongs to the state; empty when there is none. */
  readonly cookie: string;
}

/** What a login came to. */
export type LoginResult =
  | { readonly person: Person; readonly role: RoleName; readonly code: string; readonly path: string }
  | { readonly person: Person; readonly role: undefined };

/** The logins at an identity provider. */
export interface OidcLogins {
  /** Host of the issuer, for people. */
  readonly host: string;
  /**
   * Sends a browser at an address to the provider, and afterwards to a page of this server. Rejects
   * with Failure invalid_argument (the path), resource_exhausted, or unavailable (the provider).
   */
  begin(browser: { readonly path: string; readonly address: string; readonly redirectUri: string }): Promise<SentBrowser>;
  /**
   * Finishes a login, once: the entry of the person's browser session, or a person without a role,
   * whose client and command lines are gone then. Rejects with Failure unauthenticated (another
   * browser, a used state, a token that is not valid), permission_denied (the provider refused) or
   * unavailable.
   */
  finish(browser: ReturnedBrowser): Promise<LoginResult>;
}

/** What the logins are made of. */
export interface OidcParts {
  readonly settings: OidcSettings;
  readonly metadata: IdentityStore & SessionStore;
  readonly clients: Clients;
  readonly browserSessions: Pick<BrowserSessions, "enter">;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
  readonly teamId: string;
  /** Milliseconds that a call of the provider may take. */
  readonly callMs?: number;
}

/** Makes the logins at a provider. */
export function createOidcLogins(parts: OidcParts): OidcLogins {
  const { settings, metadata, clients, browserSessions, sealer, clock, log, teamId, callMs = CALL_MS } = parts;
  const { issuer } = settings;
  const { host } = new URL(issuer);
  const discover = createDiscovery({ issuer, clock, callMs });

  /** The code that a browser came back with, as it is bound to the login that was begun. */
  const codeOf = async ({ query, cookie }: ReturnedBrowser): Promise<CodeToExchange & { readonly path: string }> => {
    const state = query.get("state") ?? "";
    const known = state !== "" && state.length <= MOST_STATE_CHARACTERS && cookie !== "";
    const login = known ? await metadata.takeProviderLogin(hashSecret(state), hashSecret(cookie), clock.now()) : undefined;
    if (!login)
      throw new Failure("unauthenticated", "This login was finished already, took too long, or was begun in another browser.", {
        hint: "Log in again.",
      });
    const { statesIssuer } = await discover();
    const stated = query.get("iss");
    if (stated === null ? statesIssuer : stated !== issuer)
      throw new Failure("unauthenticated", `The browser did not come back from ${host}.`, { hint: "Log in again." });
    const error = query.get("error");
    if (error !== null) {
      const words = [error, query.get("error_description") ?? ""].filter((one) => one !== "").map(plain);
      throw new Failure("permission_denied", `${host} refused the login: ${words.join(": ")}.`, { hint: "Log in again." });
    }
    const { nonce, verifier } = JSON.parse(await sealer.open(login.sealed, contextOf(login.stateHash))) as Record<string, string>;
    const { path, redirectUri } = login;
    return { code: query.get("code") ?? "", path, redirectUri, nonce: nonce ?? "", verifier: verifier ?? "" };
  };

  return {
    host,

    async begin({ path: given, address, redirectUri }) {
      const path = pagePath(given);
      if (path === undefined) throw new Failure("invalid_argument", "The page to go to must be one of this server.");
      const now = clock.now();
      const waiting = await metadata.waitingProviderLogins(address, now);
      if (waiting.ofAddress >= MOST_OF_ADDRESS || waiting.all >= MOST)
        throw new Failure("resource_exhausted", "Too many logins are under way.", { hint: "Try again in ten minutes." });
      const { authorizationEndpoint } = await discover();
      const [state, cookie, nonce, verifier] = [newCode(), newSecret("svcl"), newCode(), newSecret("svcl")];
      const stateHash = hashSecret(state);
      await metadata.createProviderLogin({
        stateHash,
        cookieHash: hashSecret(cookie),
        sealed: await sealer.seal(JSON.stringify({ nonce, verifier }), contextOf(stateHash)),
        path,
        redirectUri,
        address,
        createdAt: now,
        expiresAt: now + PROVIDER_LOGIN_MS,
      });
      const url = new URL(authorizationEndpoint);
      const parameters = {
        response_type: "code",
        client_id: settings.clientId,
        redirect_uri: redirectUri,
        scope: settings.scopes.join(" "),
        state,
        nonce,
        code_challenge: new Bun.CryptoHasher("sha256").update(verifier).digest("base64url"),
        code_challenge_method: "S256",
      };
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
      return { url: url.href, state, cookie };
    },

    async finish(browser) {
      const given = await codeOf(browser);
      const { exchangeCode } = await import("./exchange.ts");
      const claims = await exchangeCode(settings, await discover(), given, { clock, callMs });
      const person = personFrom(issuer, settings.groupsClaim, claims);
      const environments = await metadata.environments(teamId);
      const unknown = unknownEnvironments(settings.roles, environments);
      if (unknown.length > 0) log.warning("rules of login.oidc name environments that there are not", { environments: unknown.join(", ") });
      const grant = grantOf(settings.roles, person.groups, environments);
      if (!grant) {
        const ended = await clients.delete(person.id);
        log.warning("a person has no role", { person: person.id, groups: person.groups.length, lost: ended !== undefined });
        return { person, role: undefined };
      }
      const now = clock.now();
      const { permissions, role } = grant;
      const { id, name, subject } = person;
      const secretHash = hashSecret(newSecret("svcs"));
      const client = { id, personId: id, teamId, name, subject, secretHash, permissions, environments: grant.environments, createdAt: now };
      await clients.put(client);
      const caller = { ...callerOf(client, permissions), expiresAt: now + settings.lifetimeMs };
      const { code, path } = await browserSessions.enter(caller, given.path, false);
      log.info("a person logged in", { person: id, role });
      return { person, role, code, path };
    },
  };
}

/** Where the secrets of a login are sealed for. */
function contextOf(stateHash: Uint8Array): readonly string[] {
  return ["provider login", stateHash.toHex()];
}
