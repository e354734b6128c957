/**
 * Notifications between the nodes of a platform. A notification is a hint: it may be lost, come twice or be late, so that a listener reads the truth from a store
 * when it subscribes and now and then by itself.
 */

/** What is told of; a topic each. */
export type Topic = "jobs";

/** The bus. */
export interface Bus {
  /** Tells all subscribers, on this node and on others. */
  publish(topic: Topic): void;
  /** Calls `listener` with every notification until the function that is given back is called. */
  subscribe(topic: Topic, listener: () => void): () => void;
}

/** A bus within one process. */
export function createMemoryBus(): Bus {
  const listeners = new Map<Topic, Set<() => void>>();
  return {
    publish(topic) {
      for (const listener of listeners.get(topic) ?? []) queueMicrotask(listener);
    },
    subscribe(topic, listener) {
      const group = listeners.get(topic) ?? new Set();
      listeners.set(topic, group.add(listener));
      return () => void group.delete(listener);
    },
  };
}
