/**
 * Login sessions: a command line asks for credentials, a person confirms on a page of this server, and the credentials are given out once. A session ends after
 * ten minutes, whatever became of it.
 */

import type { Clock } from "../../context/clock.ts";
import { newId } from "../identifier.ts";
import type { LoginSessionRecord, MetadataStore } from "../stores/metadata/store.ts";
import { PERMISSION_NAMES } from "./permissions.ts";
import { hashSecret, newSecret, secretMatches } from "./secrets.ts";

/** Milliseconds that a session may wait for its person. */
export const LOGIN_SESSION_LIFETIME_MS = 600_000;

/** Where a session stands. */
export type LoginOutcome =
  | { readonly state: "pending" | "denied" | "expired" }
  | { readonly state: "confirmed"; readonly clientId: string; readonly clientSecret: string; readonly environmentId: string };

/** The login sessions of a server. */
export interface LoginSessions {
  open(deviceName: string): Promise<{ readonly id: string; readonly secret: string; readonly expiresAt: number }>;
  /** The state, and the credentials on the first call after confirmation. Undefined when the session is unknown or the secret wrong. */
  poll(id: string, secret: string): Promise<LoginOutcome | undefined>;
  /** The session as the page shows it, with `expired` worked in. Undefined when unknown. */
  view(id: string): Promise<{ readonly deviceName: string; readonly state: LoginSessionRecord["state"] | "expired" } | undefined>;
  /** The person's decision; false when the session no longer waits for one. */
  decide(id: string, decision: "confirmed" | "denied"): Promise<boolean>;
}

/** Makes the login sessions over a metadata store. */
export function createLoginSessions(options: { readonly metadata: MetadataStore; readonly clock: Clock }): LoginSessions {
  const { metadata, clock } = options;
  return {
    async open(deviceName) {
      const now = clock.now();
      const secret = newSecret("svcl");
      const session: LoginSessionRecord = {
        id: newId("login", now),
        secretHash: hashSecret(secret),
        deviceName: deviceName.slice(0, 200),
        state: "pending",
        createdAt: now,
        expiresAt: now + LOGIN_SESSION_LIFETIME_MS,
      };
      await metadata.createLoginSession(session);
      return { id: session.id, secret, expiresAt: session.expiresAt };
    },

    async poll(id, secret) {
      const session = await metadata.loginSession(id);
      if (!secretMatches(secret, session?.secretHash) || !session) return undefined;
      if (session.state === "denied") return { state: "denied" };
      if (session.state === "taken" || session.expiresAt <= clock.now()) return { state: "expired" };
      if (session.state === "pending") return { state: "pending" };
      const [environment] = await metadata.environments();
      if (!environment) throw new Error("the store holds no environment");
      const now = clock.now();
      const clientSecret = newSecret("svcs");
      const client = {
        id: newId("client", now),
        teamId: environment.teamId,
        name: session.deviceName,
        secretHash: hashSecret(clientSecret),
        permissions: PERMISSION_NAMES,
        createdAt: now,
      };
      const taken = await metadata.takeLoginSession(id, client, now);
      if (!taken) return { state: "expired" };
      return { state: "confirmed", clientId: client.id, clientSecret, environmentId: environment.id };
    },

    async view(id) {
      const session = await metadata.loginSession(id);
      if (!session) return undefined;
      const over = session.state === "pending" && session.expiresAt <= clock.now();
      return { deviceName: session.deviceName, state: over ? "expired" : session.state };
    },

    decide: (id, decision) => metadata.decideLoginSession(id, decision, clock.now()),
  };
}
