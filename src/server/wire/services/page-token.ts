/**
 * Page tokens: opaque to callers, signed, and valid only with the filters of the call that returned
 * them.
 */

import { DEFAULT_PAGE, MAX_PAGE } from "../../../domain/pages.ts";
import { isSignedBy, type KeyRing, signWith } from "../../access/keys.ts";
import { Failure } from "../../failure.ts";

/** The page that a call asks for: 0 and empty where it says nothing. */
export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken: string;
  /** Items that `read` leaves out; default 0. */
  readonly offset?: number;
}

/**
 * Reads a page of a list, of which each item's id is where the next begins. Throws Failure
 * invalid_argument for the token of another list, and for a token beside an offset.
 * @param filter everything of the call that the list depends on
 * @param read reads at most `limit` items that follow the one with the id `after`; undefined = from
 * the first
 * @returns the items, and the token of the next page; empty after the last
 */
export async function readPage<R extends { readonly id: string }>(
  keys: KeyRing,
  filter: string,
  { pageSize, pageToken: token, offset = 0 }: PageRequest,
  read: (limit: number, after: string | undefined) => Promise<readonly R[]>,
): Promise<{ readonly items: readonly R[]; readonly nextPageToken: string }> {
  if (token !== "" && offset !== 0) throw new Failure("invalid_argument", "An offset and a page token do not go together.");
  const size = pageSizeOf(pageSize);
  const found = await read(size + 1, token === "" ? undefined : readPageToken(keys, filter, token));
  const items = found.slice(0, size);
  const last = items.at(-1);
  return { items, nextPageToken: found.length > size && last ? pageToken(keys, filter, last.id) : "" };
}

/** Items of a page by what a call says; 0 and less = the default. */
function pageSizeOf(wanted: number): number {
  return Math.min(wanted > 0 ? wanted : DEFAULT_PAGE, MAX_PAGE);
}

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

/** The number in a token, where the page before ended; undefined for the first page. */
export function readPlace(keys: KeyRing, filter: string, token: string): number | undefined {
  return token === "" ? undefined : Number(readPageToken(keys, filter, token));
}

/** A token that holds the number where a page ended; empty when it was the last one. */
export function placeToken(keys: KeyRing, filter: string, next: number | undefined): string {
  return next === undefined ? "" : pageToken(keys, filter, String(next));
}

/** Records of a page: of queries, errors or spans, when a call does not say, and at most. */
const USUAL_RECORDS = 100;
const MOST_RECORDS = 1_000;

/** Records of a page by what a call says; 0 and less = the default. */
export function recordsOf(wanted: number): number {
  return Math.min(wanted > 0 ? wanted : USUAL_RECORDS, MOST_RECORDS);
}
