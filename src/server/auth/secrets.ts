/** Random secrets and how they are kept: 256 bits from the system, stored as their SHA-256, compared in constant time. */

import { timingSafeEqual } from "node:crypto";

/** A new secret of 256 bits with a prefix that scanners can find. */
export function newSecret(prefix: "svcs" | "svcl"): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `${prefix}_${bytes.toBase64({ alphabet: "base64url", omitPadding: true })}`;
}

/** What is stored of a secret. A slow hash would add nothing: the secret is random, not a password. */
export function hashSecret(secret: string): Uint8Array {
  return new Uint8Array(new Bun.CryptoHasher("sha256").update(secret).digest().buffer);
}

/** Whether a secret is the one that was hashed, in the same time for every answer. Without a hash the work is done all the same. */
export function secretMatches(secret: string, hash: Uint8Array | undefined): boolean {
  const given = hashSecret(secret);
  const matches = timingSafeEqual(given, hash?.length === given.length ? hash : new Uint8Array(given.length));
  return matches && hash !== undefined;
}

/** Whether two strings are equal, in a time that tells nothing of where they differ. */
export function equalInConstantTime(a: string, b: string): boolean {
  return timingSafeEqual(hashSecret(a), hashSecret(b));
}

/** HMAC-SHA256 of the parts, base64url. Parts are told apart by their lengths. */
export function sign(key: Uint8Array, parts: readonly string[]): string {
  const hasher = new Bun.CryptoHasher("sha256", key);
  for (const part of parts) hasher.update(`${part.length}:${part}`);
  return hasher.digest("base64url");
}
