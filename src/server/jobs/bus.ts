/**
 * Notifications between the nodes of a platform. A notification is a hint: it may be lost, come
 * twice or be late. What follows a store by it reads the truth there when it subscribes, when it is
 * told that notifications may have been lost, and now and then by itself: see `nodes/follow.ts`.
 */

/** What is told of. */
export type Topic = "jobs" | "schedules" | "live" | "progress" | "clients" | "environments";

/** The bus. */
export interface Bus {
  /**
   * Tells all subscribers, on this node and on others. `id` says what changed, at most 100
   * characters; empty = anything of the topic may have.
   */
  publish(topic: Topic, id?: string): void;
  /**
   * Calls `listener` with the id of every notification until the function that is given back is
   * called; with an empty one as well when a broken connection is restored, because what was told
   * meanwhile is lost.
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
