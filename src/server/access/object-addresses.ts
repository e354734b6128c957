/**
 * Signed addresses of objects: `/v1/objects/<key>?op&size&expires&signature`. The signature covers
 * everything that the address says, so that it opens one object for one purpose until it ends.
 */

import type { Clock } from "../../context/clock.ts";
import type { ObjectAddresses, ObjectOperation } from "../stores/objects/store.ts";
import { equalInConstantTime, sign } from "./secrets.ts";

/** Milliseconds that a signed address is good for. */
const ADDRESS_LIFETIME_MS = 900_000;

const PREFIX = "/v1/objects/";

/** Makes the addresses of a server. */
export function createObjectAddresses(options: { readonly key: Uint8Array; readonly clock: Clock }): ObjectAddresses {
  const { key: secret, clock } = options;
  const signatureOf = (operation: string, key: string, size: string, expires: string) => sign(secret, [operation, key, size, expires]);
  return {
    sign(operation, key, size) {
      const expiresAt = clock.now() + ADDRESS_LIFETIME_MS;
      const query = new URLSearchParams({
        op: operation,
        size: String(size),
        expires: String(expiresAt),
        signature: signatureOf(operation, key, String(size), String(expiresAt)),
      });
      return { url: `${PREFIX}${key}?${query}`, expiresAt };
    },
    check(url) {
      const key = url.pathname.slice(PREFIX.length);
      const given = (name: string) => url.searchParams.get(name) ?? "";
      const expected = signatureOf(given("op"), key, given("size"), given("expires"));
      if (!equalInConstantTime(given("signature"), expected)) return { refused: "The address is not signed by this server." };
      if (Number(given("expires")) <= clock.now()) return { refused: "The address has expired. Ask for a new one." };
      return { operation: given("op") as ObjectOperation, key, size: Number(given("size")) };
    },
  };
}
