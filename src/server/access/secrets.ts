/** Random secrets: 256 bits from the system, stored as their SHA-256, compared in constant time. */

import { timingSafeEqual } from "node:crypto";

/** A new secret of 256 bits with a prefix that scanners can find. */
export function newSecret(prefix: "svcs" | "svcl" | "svcb"): string {
  return `${prefix}_${randomText(32)}`;
}

/** A new one-time code of 192 bits, base64url. */
export function newCode(): string {
  return randomText(24);
}

function randomText(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes)).toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Letters that are distinct when read aloud and form no words. */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";

/** A new code for people to compare, such as `BCDF-GHJK`. It is no secret. */
export function newUserCode(): string {
  const letters: string[] = [];
  while (letters.length < 8) {
    for (const byte of crypto.getRandomValues(new Uint8Array(16)))
      if (byte < 12 * LETTERS.length) letters.push(LETTERS[byte % LETTERS.length] ?? "");
  }
  return `${letters.slice(0, 4).join("")}-${letters.slice(4, 8).join("")}`;
}

/**
 * The hash that is stored of a secret. A slow hash would add nothing: the secret is random, not a
 * password.
 */
export function hashSecret(secret: string): Uint8Array {
  return new Uint8Array(new Bun.CryptoHasher("sha256").update(secret).digest().buffer);
}

/**
 * Whether `hash` is the hash of `secret`. Takes the same time for every answer, also when `hash` is
 * undefined.
 */
export function secretMatches(secret: string, hash: Uint8Array | undefined): boolean {
  const given = hashSecret(secret);
  const matches = timingSafeEqual(given, hash?.length === given.length ? hash : new Uint8Array(given.length));
  return matches && hash !== undefined;
}

/** Whether two strings are equal, in a time that does not depend on where they differ. */
export function equalInConstantTime(a: string, b: string): boolean {
  return timingSafeEqual(hashSecret(a), hashSecret(b));
}

/**
 * HMAC-SHA256 of the parts, base64url. Each part is preceded by its length, so that other parts
 * never give the same input.
 */
export function sign(key: Uint8Array, parts: readonly string[]): string {
  const hasher = new Bun.CryptoHasher("sha256", key);
  for (const part of parts) hasher.update(`${part.length}:${part}`);
  return hasher.digest("base64url");
}
