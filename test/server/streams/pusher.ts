/** Messages for the topics of a test's server, pushed by another connection to their file. */

import { join } from "node:path";
import { systemClock } from "../../../src/context/system-clock.ts";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createSqliteTopicStore } from "../../../src/server/stores/topics/sqlite.ts";
import { createEmbeddedTopics } from "../../../src/server/topics/embedded.ts";

/** A message's bytes, or what becomes JSON. */
export type Pushed = Uint8Array | string | object;

/** Pushes to topics of a data directory. */
export class Pusher implements AsyncDisposable {
  readonly #store;
  readonly #embedded;

  /** @param data the server's data directory */
  constructor(
    data: string,
    readonly environmentId: string,
  ) {
    this.#store = createSqliteTopicStore({ path: join(data, "topics.db"), programVersion: "1.2.3-test", clock: systemClock });
    this.#embedded = createEmbeddedTopics({ store: async () => this.#store, bus: createMemoryBus() });
  }

  /** Pushes messages to a topic, which is made with as many partitions at least. */
  async push(topic: string, messages: readonly Pushed[], partition = 0, partitions = 1): Promise<void> {
    await this.#embedded.ensure(this.environmentId, topic, partitions);
    for (let at = 0; at < messages.length; at += 5_000)
      await this.#embedded.of(this.environmentId).push(
        topic,
        messages.slice(at, at + 5_000).map((message) => ({ partition, value: bytesOf(message) })),
      );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#embedded.close();
    await this.#store.close();
  }
}

function bytesOf(message: Pushed): Uint8Array {
  if (message instanceof Uint8Array) return message;
  return new TextEncoder().encode(typeof message === "string" ? message : JSON.stringify(message));
}
