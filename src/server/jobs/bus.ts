/**
 * Notifications between the nodes of a platform. A notification is a hint: it may be lost, come
 * twice or be late. A follower of a store reads the truth there when it subscribes, when
 * notifications may have been lost, and periodically: see `nodes/follow.ts`.
 */

/** The topic of a notification. */
export type Topic =
  | "jobs"
  | "schedules"
  | "live"
  | "progress"
  | "clients"
  | "sessions"
  | "environments"
  | "documents"
  | "deletions"
  | "streams"
  | "topics"
  | "notebooks"
  | "notebook-outputs"
  | "changes";

/** The bus of a platform. */
export interface Bus {
  /**
   * Notifies all subscribers, on this node and on others. `id` names what changed, in at most 100
   * characters; empty = anything of the topic may have changed.
   */
  publish(topic: Topic, id?: string): void;
  /**
   * Calls `listener` with the id of every notification until the returned function is called. It is
   * also called with an empty id when a broken connection is restored, because notifications sent
   * meanwhile are lost.
   */
  subscribe(topic: Topic, listener: (id: string) => void): () => void;
}

/** A bus within one process. */
export function createMemoryBus(): Bus {
  const listeners = new Map<Topic, Set<(id: string) => void>>();
  return {
    publish(topic, id = "") {
      for (const listener of listeners.get(topic) ?? []) queueMicrotask(() => listener(id));
    },
    subscribe(topic, listener) {
      const group = listeners.get(topic) ?? new Set();
      listeners.set(topic, group.add(listener));
      return () => void group.delete(listener);
    },
  };
}
