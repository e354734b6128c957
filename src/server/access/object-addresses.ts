/**
 * Signed addresses of objects: `/v1/objects/<key>?op&size&expires&signature`. The signature covers
 * all other parts, so that an address is good for one operation on one object until it expires.
 */

import type { Clock } from "../../context/clock.ts";
import type { ObjectAddresses, ObjectOperation } from "../stores/objects/store.ts";
import { isSignedBy, type KeyRing, signWith } from "./keys.ts";

/** Milliseconds until a signed address expires. */
const ADDRESS_LIFETIME_MS = 900_000;

const PREFIX = "/v1/objects/";

/** Makes the addresses of a server. */
export function createObjectAddresses(options: { readonly keys: KeyRing; readonly clock: Clock }): ObjectAddresses {
  const { keys, clock } = options;
  return {
    sign(operation, key, size) {
      const expiresAt = clock.now() + ADDRESS_LIFETIME_MS;
      const query = new URLSearchParams({
        op: operation,
        size: String(size),
        expires: String(expiresAt),
        signature: signWith(keys, [operation, key, String(size), String(expiresAt)]),
      });
      return { url: `${PREFIX}${key}?${query}`, expiresAt };
    },
    check(url) {
      const key = url.pathname.slice(PREFIX.length);
      const given = (name: string) => url.searchParams.get(name) ?? "";
      if (!isSignedBy(keys, [given("op"), key, given("size"), given("expires")], given("signature")))
        return { refused: "The address is not signed by this server." };
      if (Number(given("expires")) <= clock.now()) return { refused: "The address has expired. Ask for a new one." };
      return { operation: given("op") as ObjectOperation, key, size: Number(given("size")) };
    },
  };
}
