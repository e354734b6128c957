/**
 * Page tokens: opaque to callers, signed, and valid only with the filters of the call that returned
 * them.
 */

import { isSignedBy, type KeyRing, signWith } from "../../access/keys.ts";
import { Failure } from "../../failure.ts";

/** A token that holds where a page ended. */
export function pageToken(keys: KeyRing, filter: string, cursor: string): string {
  return new TextEncoder()
    .encode(`${cursor} ${signWith(keys, ["page", filter, cursor])}`)
    .toBase64({ alphabet: "base64url", omitPadding: true });
}

/**
 * The cursor in a token. Throws Failure invalid_argument when this server did not sign the token,
 * or signed it for another list.
 */
export function readPageToken(keys: KeyRing, filter: string, token: string): string {
  const refused = new Failure("invalid_argument", "The page token does not belong to this list.", { hint: "Start from the first page." });
  let text: string;
  try {
    text = new TextDecoder().decode(Uint8Array.fromBase64(token, { alphabet: "base64url" }));
  } catch {
    throw refused;
  }
  const [cursor = "", signature = ""] = text.split(" ");
  if (!isSignedBy(keys, ["page", filter, cursor], signature)) throw refused;
  return cursor;
}
