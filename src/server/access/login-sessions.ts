/**
 * Login sessions: a command line requests credentials, a person who is logged in with a browser
 * confirms on a page of this server, and the credentials are returned once. An administrator
 * confirms anybody's, whose credentials do not end; a person of an identity provider the own one,
 * which may do no more than the person and ends with the person's login. A session ends after ten
 * minutes, whatever its state.
 */

import type { Clock } from "../../context/clock.ts";
import { onlyReading } from "../../domain/permissions.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { IdentityStore } from "../stores/metadata/identity.ts";
import type { LoginSessionRecord, SessionStore } from "../stores/metadata/sessions.ts";
import { primaryEnvironment } from "./environments.ts";
import { requireWholeTeam } from "./scope.ts";
import { hashSecret, newSecret, newUserCode, secretMatches } from "./secrets.ts";
import { type Caller, personOf } from "./tokens.ts";

/** Milliseconds that a session waits for confirmation. */
export const LOGIN_SESSION_LIFETIME_MS = 600_000;
/** Most sessions that wait at the same time, per address and in all: anyone may open them. */
const MOST_OF_ADDRESS = 50;
const MOST = 1000;

/** The state of a session for the command line. */
export type LoginOutcome =
  | { readonly state: "pending" | "denied" | "expired" }
  | { readonly state: "confirmed"; readonly clientId: string; readonly clientSecret: string; readonly environmentId: string };

/** A session as its page shows it. */
export interface LoginView {
  readonly deviceName: string;
  readonly address: string;
  readonly userCode: string;
  readonly state: LoginSessionRecord["state"] | "expired";
}

/**
 * A person's decision: all of the person's permissions, those to read only, or denial. With `other`
 * it is all of them for somebody else: the client acts for a person of its own, who can approve
 * what this one asks for; else it acts for the one who decides.
 */
export type LoginAnswer = "all" | "other" | "read" | "deny";

/** The login sessions of a server. */
export interface LoginSessions {
  /** Opens a session for a device at an address. Throws Failure resource_exhausted. */
  open(
    deviceName: string,
    address: string,
  ): Promise<{ readonly id: string; readonly secret: string; readonly userCode: string; readonly expiresAt: number }>;
  /**
   * The state, and the credentials on the first call after confirmation. Undefined when the session
   * is unknown or the secret wrong.
   */
  poll(id: string, secret: string): Promise<LoginOutcome | undefined>;
  /** The session as the page shows it, `expired` if it waited too long. Undefined when unknown. */
  view(id: string): Promise<LoginView | undefined>;
  /**
   * Stores the person's decision; false when the session no longer waits for one. Throws Failure
   * permission_denied unless `mayDecide`.
   */
  decide(id: string, person: Caller, answer: LoginAnswer): Promise<boolean>;
}

/**
 * Whether a caller may confirm logins: administrators with credentials that do not end, and persons
 * of an identity provider, who confirm their own.
 */
export function mayDecide({ environments, expiresAt, isPerson, permissions }: Caller): boolean {
  return isPerson === true || (environments === undefined && expiresAt === undefined && permissions.includes("admin"));
}

/** Makes the login sessions over a metadata store. */
export function createLoginSessions(options: { readonly metadata: IdentityStore & SessionStore; readonly clock: Clock }): LoginSessions {
  const { metadata, clock } = options;
  return {
    async open(deviceName, address) {
      const now = clock.now();
      const waiting = await metadata.pendingLoginSessions(address, now);
      if (waiting.ofAddress >= MOST_OF_ADDRESS || waiting.all >= MOST)
        throw new Failure("resource_exhausted", "Too many logins wait for their confirmation.", { hint: "Try again in ten minutes." });
      const secret = newSecret("svcl");
      const session: LoginSessionRecord = {
        id: newId("login", now),
        secretHash: hashSecret(secret),
        deviceName: deviceName.slice(0, 200),
        address,
        userCode: newUserCode(),
        state: "pending",
        permissions: [],
        personId: "",
        createdAt: now,
        expiresAt: now + LOGIN_SESSION_LIFETIME_MS,
      };
      await metadata.createLoginSession(session);
      return { id: session.id, secret, userCode: session.userCode, expiresAt: session.expiresAt };
    },

    async poll(id, secret) {
      const session = await metadata.loginSession(id);
      if (!secretMatches(secret, session?.secretHash) || !session) return undefined;
      if (session.state === "denied") return { state: "denied" };
      if (session.state === "taken" || session.expiresAt <= clock.now()) return { state: "expired" };
      if (session.state === "pending") return { state: "pending" };
      const [any] = await metadata.environments();
      const environment = any && (await primaryEnvironment(metadata, any));
      if (!environment) throw new Error("the store holds no environment");
      const person = session.parentId === undefined ? undefined : await metadata.client(session.parentId);
      const now = clock.now();
      const clientSecret = newSecret("svcs");
      const client = {
        id: newId("client", now),
        teamId: environment.teamId,
        name: person ? `${person.name} on ${session.deviceName}` : session.deviceName,
        secretHash: hashSecret(clientSecret),
        permissions: session.permissions,
        createdAt: now,
        ...(session.personId !== "" && { personId: session.personId }),
        ...(session.parentId !== undefined && { parentId: session.parentId }),
        ...(session.clientExpiresAt !== undefined && { expiresAt: session.clientExpiresAt }),
      };
      const taken = await metadata.takeLoginSession(id, client, now);
      if (!taken) return { state: "expired" };
      const isReached = person?.environments?.includes(environment.id) ?? true;
      return { state: "confirmed", clientId: client.id, clientSecret, environmentId: isReached ? environment.id : "" };
    },

    async view(id) {
      const session = await metadata.loginSession(id);
      if (!session) return undefined;
      const over = session.state === "pending" && session.expiresAt <= clock.now();
      const { deviceName, address, userCode } = session;
      return { deviceName, address, userCode, state: over ? "expired" : session.state };
    },

    async decide(id, person, answer) {
      if (!mayDecide(person) || (person.isPerson && answer === "other")) refuse(person);
      const given = { all: person.permissions, other: person.permissions, read: onlyReading(person.permissions), deny: [] };
      const state = answer === "deny" ? "denied" : "confirmed";
      const personId = answer === "other" || answer === "deny" ? "" : personOf(person);
      const own = person.isPerson && state === "confirmed" && { parentId: person.clientId, clientExpiresAt: person.expiresAt };
      return metadata.decideLoginSession(id, { state, by: person.clientId, permissions: given[answer], personId, ...own }, clock.now());
    },
  };
}

/** Throws the Failure permission_denied that says why a caller may not decide. */
function refuse(person: Caller): never {
  requireWholeTeam(person, "the logins of others");
  if (person.expiresAt !== undefined)
    throw new Failure("permission_denied", "Credentials that end cannot confirm a login, which does not end.");
  throw new Failure("permission_denied", "Confirming a login needs the permission 'admin'.", {
    hint: "Open the page with credentials that have it, not read-only.",
  });
}
