/**
 * What is kept of clients of the Model Context Protocol that began with a handshake: the resources
 * that each session follows. It is kept in the memory of the node that has the session's stream.
 */

import { FollowedResources } from "../../../domain/mcp/followed-resources.ts";

/** Most clients, and sessions of each; one more takes the place of the one that is idle longest. */
const MOST_CLIENTS = 1_000;
const MOST_OF_CLIENT = 16;
/** Longest name of a session that is taken, in characters. */
const MAX_NAME = 100;

/** The sessions that follow resources. */
export class McpSessions {
  readonly #clients = new Map<string, Map<string, FollowedResources>>();

  /** What a session of a client follows; undefined without a session. */
  followedBy(clientId: string, session: string | null): FollowedResources | undefined {
    if (!session || session.length > MAX_NAME) return undefined;
    const own = latest(this.#clients, clientId, () => new Map<string, FollowedResources>(), MOST_CLIENTS);
    return latest(own, session, () => new FollowedResources(), MOST_OF_CLIENT);
  }
}

/** The value of a key, which is the latest of at most so many; made when it is not there. */
function latest<V>(map: Map<string, V>, key: string, make: () => V, most: number): V {
  const value = map.get(key) ?? make();
  map.delete(key);
  map.set(key, value);
  if (map.size > most) map.delete(map.keys().next().value as string);
  return value;
}
