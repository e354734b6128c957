/**
 * Sealing: encryption of secret values at rest, AES-256-GCM by WebCrypto. A sealed value is a text
 * with the id of its key, so that keys can be rotated, and can be opened only in the context that
 * it was sealed for: copied to another row it is refused.
 */

import { Failure } from "../failure.ts";
import { currentKey, type DerivedKey, type KeyRing, keyNamed } from "./keys.ts";

/** Seals and opens secret values. */
export interface Sealer {
  /**
   * The sealed form of a text. `context` names where it is stored, for example scope, kind, id and
   * field.
   */
  seal(text: string, context: readonly string[]): Promise<string>;
  /**
   * The text of a sealed value. Rejects with Failure failed_precondition when the key is not among
   * the server's, or the value was sealed for another context or was changed.
   */
  open(sealed: string, context: readonly string[]): Promise<string>;
  /** Whether a value is sealed with the key that seals now. */
  isCurrent(sealed: string): boolean;
}

const VERSION = "v1";
const IV_BYTES = 12;
const BASE64URL = { alphabet: "base64url", omitPadding: true } as const;

/** Makes a sealer: the ring's first key seals, all open. */
export function createSealer(ring: KeyRing): Sealer {
  const imported = new Map<string, Promise<CryptoKey>>();
  const keyOf = ({ id, secret }: DerivedKey): Promise<CryptoKey> => {
    const known = imported.get(id) ?? crypto.subtle.importKey("raw", new Uint8Array(secret), "AES-GCM", false, ["encrypt", "decrypt"]);
    imported.set(id, known);
    return known;
  };
  const parameters = (iv: Uint8Array<ArrayBuffer>, context: readonly string[]) => ({
    name: "AES-GCM",
    iv,
    additionalData: new TextEncoder().encode(JSON.stringify(context)),
  });

  return {
    async seal(text, context) {
      const key = currentKey(ring);
      const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
      const bytes = await crypto.subtle.encrypt(parameters(iv, context), await keyOf(key), new TextEncoder().encode(text));
      return [VERSION, key.id, iv.toBase64(BASE64URL), new Uint8Array(bytes).toBase64(BASE64URL)].join(".");
    },
    async open(sealed, context) {
      const [version, id, iv = "", bytes = ""] = sealed.split(".");
      const key = version === VERSION ? keyNamed(ring, id ?? "") : undefined;
      if (!key)
        throw new Failure("failed_precondition", "A secret was sealed with a key that this server does not have.", {
          hint: "Start the server with the keys it had, or set the secret again.",
        });
      try {
        const opened = await crypto.subtle.decrypt(
          parameters(Uint8Array.fromBase64(iv, BASE64URL), context),
          await keyOf(key),
          Uint8Array.fromBase64(bytes, BASE64URL),
        );
        return new TextDecoder().decode(opened);
      } catch {
        throw new Failure("failed_precondition", "A stored secret is damaged, or was moved from another place.", {
          hint: "Set the secret again.",
        });
      }
    },
    isCurrent: (sealed) => sealed.startsWith(`${VERSION}.${currentKey(ring).id}.`),
  };
}
