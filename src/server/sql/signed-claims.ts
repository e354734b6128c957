/** Claims that a private key signs, by which warehouses know who calls. */

import { createPrivateKey, createPublicKey } from "node:crypto";

/** The key of a service account of Google Cloud. */
export interface ServiceAccount {
  readonly client_email: string;
  readonly private_key: string;
  readonly private_key_id?: string;
  readonly project_id?: string;
}

/** Where service accounts of Google are given tokens. */
export const GOOGLE_TOKEN_ADDRESS = "https://oauth2.googleapis.com/token";
const GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform";

/**
 * The claim of a service account, which Google exchanges for an access token (RFC 7523). Rejects
 * when the key is no RSA key in PEM.
 * @param now seconds since 1970
 */
export async function googleClaim(account: ServiceAccount, now: number, seconds: number): Promise<string> {
  const { importPKCS8, SignJWT } = await import("jose");
  return new SignJWT({ scope: GOOGLE_SCOPE })
    .setProtectedHeader({ alg: "RS256", typ: "JWT", ...(account.private_key_id && { kid: account.private_key_id }) })
    .setIssuer(account.client_email)
    .setAudience(GOOGLE_TOKEN_ADDRESS)
    .setIssuedAt(now)
    .setExpirationTime(now + seconds)
    .sign(await importPKCS8(account.private_key, "RS256"));
}

/**
 * The body of the request that exchanges a claim for an access token.
 */
export function googleExchange(assertion: string): string {
  return new URLSearchParams({ grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion }).toString();
}

/**
 * The token of a Snowflake user, which names the user's key by the SHA-256 of its public half.
 * Rejects when the key is no RSA key in PKCS#8 PEM without a passphrase.
 * @param now seconds since 1970
 */
export async function snowflakeClaim(account: string, user: string, pem: string, now: number, seconds: number): Promise<string> {
  const { importPKCS8, SignJWT } = await import("jose");
  const publicKey = createPublicKey(createPrivateKey(pem)).export({ type: "spki", format: "der" });
  const fingerprint = new Bun.CryptoHasher("sha256").update(publicKey).digest("base64");
  const [name = ""] = account.toUpperCase().split(".");
  const subject = `${name}.${user.toUpperCase()}`;
  return new SignJWT({})
    .setProtectedHeader({ alg: "RS256", typ: "JWT" })
    .setIssuer(`${subject}.SHA256:${fingerprint}`)
    .setSubject(subject)
    .setIssuedAt(now)
    .setExpirationTime(now + seconds)
    .sign(await importPKCS8(pem, "RS256"));
}
