/**
 * Tokens of applications that a person let in: a code becomes a client of its own, which acts for
 * the person, and its refresh token works once. Each refresh replaces the client, so a refresh
 * token that two have is worth nothing to the second one.
 */

import { isOver } from "../../access/clients.ts";
import { CODE_CONTEXT, isVerifierOf, type OauthGrant, REFRESH_CONTEXT } from "../../access/oauth-apps.ts";
import { hashSecret, newSecret, secretMatches } from "../../access/secrets.ts";
import { Failure } from "../../failure.ts";
import { newId } from "../../identifier.ts";
import type { ClientRecord } from "../../stores/metadata/identity.ts";
import type { Platform } from "../platform.ts";
import { type CodeRequest, type RefreshRequest, TokenRequestRefused } from "./token-request.ts";

/** Milliseconds that access goes on without being used. */
const IDLE_MS = 30 * 86_400_000;

/** What a refresh token is. */
interface Refreshing {
  readonly appId: string;
  readonly clientId: string;
  readonly secret: string;
}

/** A client with its refresh token. */
export interface AppClient {
  readonly client: ClientRecord;
  readonly refreshToken: string;
}

/** The client of a code, which is worth something once. Rejects with TokenRequestRefused. */
export async function clientOfCode(platform: Platform, { appId, code, redirectUri, verifier }: CodeRequest): Promise<AppClient> {
  const { clients, loginSessions } = platform;
  const grant = await opened<OauthGrant>(platform, code, CODE_CONTEXT);
  const isFor = grant?.appId === appId && (redirectUri === undefined || grant.redirectUri === redirectUri);
  if (!grant || !isFor || !isVerifierOf(verifier, grant.challenge)) throw invalidGrant();
  const outcome = await loginSessions.poll(grant.sessionId, grant.secret);
  if (outcome?.state !== "confirmed") throw invalidGrant();
  const made = await clients.find(outcome.clientId);
  const client = made && (await clients.update(made.id, { expiresAt: endOf(platform, made) }));
  if (!client) throw invalidGrant();
  return { client, refreshToken: await sealedToken(platform, { appId, clientId: client.id, secret: outcome.clientSecret }) };
}

/** The client in place of that of a refresh token. Rejects with TokenRequestRefused. */
export async function refreshedClient(platform: Platform, { appId, refreshToken }: RefreshRequest): Promise<AppClient> {
  const { clients, clock } = platform;
  const given = await opened<Refreshing>(platform, refreshToken, REFRESH_CONTEXT);
  const old = given?.appId === appId ? await clients.find(given.clientId) : undefined;
  if (!given || !old || !secretMatches(given.secret, old.secretHash) || isOver(old, clock.now())) throw invalidGrant();
  // Who deletes it goes on: of two that come at once, one.
  if ((await clients.delete(old.id)) === undefined) throw invalidGrant();
  const secret = newSecret("svcs");
  const now = clock.now();
  const client = { ...old, id: newId("client", now), secretHash: hashSecret(secret), expiresAt: endOf(platform, old) };
  await clients.create(client);
  return { client, refreshToken: await sealedToken(platform, { appId, clientId: client.id, secret }) };
}

/** When the access of a client ends that is used now: a person's with the person's login. */
function endOf({ clock }: Platform, { expiresAt, parentId }: ClientRecord): number {
  const idle = clock.now() + IDLE_MS;
  return parentId !== undefined && expiresAt !== undefined ? Math.min(idle, expiresAt) : idle;
}

function sealedToken({ sealer }: Platform, refreshing: Refreshing): Promise<string> {
  return sealer.seal(JSON.stringify(refreshing), REFRESH_CONTEXT);
}

async function opened<T>({ sealer }: Platform, sealed: string, context: readonly string[]): Promise<T | undefined> {
  try {
    return JSON.parse(await sealer.open(sealed, context)) as T;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

function invalidGrant(): TokenRequestRefused {
  return new TokenRequestRefused("invalid_grant", "The code or the refresh token is not for this application, was used, or has ended.");
}
