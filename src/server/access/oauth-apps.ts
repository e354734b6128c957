/**
 * Applications that ask for access by OAuth's authorization code (RFC 6749, 7636, 7591). Anyone may
 * register one, so nothing is stored of it: its id is what it said of itself, signed. A code is the
 * sealed half of a login session, worth something only to who made its challenge.
 */

import { isSignedBy, type KeyRing, signWith } from "./keys.ts";
import { equalInConstantTime } from "./secrets.ts";

/** What an application says of itself. */
export interface OauthApp {
  /** For people; anyone may choose any name. */
  readonly name: string;
  /** Addresses that a browser may be sent back to. */
  readonly redirectUris: readonly string[];
}

/** What a code is a half of: a login session with its secret, and for whom it is. */
export interface OauthGrant {
  readonly sessionId: string;
  readonly secret: string;
  readonly appId: string;
  readonly redirectUri: string;
  /** SHA-256 of the verifier, in base64url. */
  readonly challenge: string;
}

/** The context that codes are sealed for, and that refresh tokens are. */
export const CODE_CONTEXT: readonly string[] = ["oauth code"];
export const REFRESH_CONTEXT: readonly string[] = ["oauth refresh token"];

/** Longest name, and longest address, in characters; most addresses. */
export const MAX_APP_NAME = 100;
const MAX_ADDRESS = 500;
export const MAX_REDIRECTS = 5;
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** The id of an application. */
export function appId(keys: KeyRing, { name, redirectUris }: OauthApp): string {
  const text = new TextEncoder().encode(JSON.stringify([name, redirectUris])).toBase64(BASE64URL);
  return `app_${text}.${signWith(keys, ["oauth app", text])}`;
}

/** The application with an id; undefined for one that this server did not give. */
export function appOf(keys: KeyRing, id: string): OauthApp | undefined {
  const [text = "", ...signature] = id.startsWith("app_") ? id.slice(4).split(".") : [];
  if (!isSignedBy(keys, ["oauth app", text], signature.join("."))) return undefined;
  const [name, redirectUris] = JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(text, BASE64URL))) as [string, string[]];
  return { name, redirectUris };
}

/**
 * Whether a browser may be sent to an address with a code: over TLS, or to a program on its own
 * machine.
 */
export function mayRedirectTo(address: string): boolean {
  const url = address.length <= MAX_ADDRESS ? URL.parse(address) : null;
  if (url?.hash !== "" || url.username !== "" || url.password !== "") return false;
  return url.protocol === "https:" || isLoopback(url);
}

/** Whether an address is one of the application's; of the own machine any port is (RFC 8252). */
export function isRedirectOf({ redirectUris }: OauthApp, address: string): boolean {
  if (!mayRedirectTo(address)) return false;
  return redirectUris.some((known) => known === address || (isLoopback(new URL(known)) && withoutPort(known) === withoutPort(address)));
}

function isLoopback({ hostname, protocol }: URL): boolean {
  return protocol === "http:" && ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
}

function withoutPort(address: string): string {
  const url = new URL(address);
  url.port = "";
  return url.href;
}

/** Whether a text is a challenge of the method S256. */
export function isChallenge(text: string): boolean {
  return CHALLENGE.test(text);
}

/** Whether a verifier is the one that a challenge was made of. */
export function isVerifierOf(verifier: string, challenge: string): boolean {
  if (!VERIFIER.test(verifier)) return false;
  return equalInConstantTime(new Bun.CryptoHasher("sha256").update(verifier).digest("base64url"), challenge);
}
