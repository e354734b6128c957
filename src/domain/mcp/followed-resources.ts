/** Resources whose changes a client wants to hear of. */

import { RPC_CODES, RpcError } from "./json-rpc.ts";
import type { Resources } from "./resource.ts";

/** Most resources that one client follows at a time. */
export const MOST_FOLLOWED = 50;
/** Longest address of a resource, in characters. */
export const MAX_ADDRESS = 1_000;

/** A change of resources: of their list, or of the one at an address. */
export type ResourceChange = "list" | { readonly uri: string };

/** The resources that one client follows, each with the digest of what it said last. */
export class FollowedResources {
  readonly #digests = new Map<string, string>();

  /**
   * Follows the resource at an address from now on; false when there is none. Throws RpcError when
   * there are too many, and ToolFailure.
   */
  async add(resources: Resources, uri: unknown, signal: AbortSignal): Promise<boolean> {
    if (typeof uri !== "string" || uri.length > MAX_ADDRESS) return false;
    const digest = await digestOf(resources, uri, signal);
    if (digest === "") return false;
    if (!this.#digests.has(uri) && this.#digests.size >= MOST_FOLLOWED)
      throw new RpcError(RPC_CODES.invalidRequest, `There are ${MOST_FOLLOWED} subscriptions of resources, which is the most.`);
    this.#digests.set(uri, digest);
    return true;
  }

  /** Follows a resource no more. */
  remove(uri: unknown): void {
    this.#digests.delete(uri as string);
  }

  /** The addresses of those that say something else than before, or are gone. */
  async changed(resources: Resources, signal: AbortSignal): Promise<readonly string[]> {
    const found: string[] = [];
    for (const [uri, before] of [...this.#digests]) {
      // What cannot be read now is as it was.
      const now = await digestOf(resources, uri, signal).catch(() => before);
      if (signal.aborted) return [];
      if (now === before || !this.#digests.has(uri)) continue;
      this.#digests.set(uri, now);
      found.push(uri);
    }
    return found;
  }
}

/** Digest of what a resource says; empty when there is none. */
async function digestOf(resources: Resources, uri: string, signal: AbortSignal): Promise<string> {
  const found = await resources.read(uri, signal);
  if (!found) return "";
  const bytes = new TextEncoder().encode(JSON.stringify(found));
  return [...new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))].join();
}
