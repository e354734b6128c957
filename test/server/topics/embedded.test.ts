/** The server's own topics. */

import { join } from "node:path";
import { systemClock } from "../../../src/context/system-clock.ts";
import { createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createSqliteTopicStore } from "../../../src/server/stores/topics/sqlite.ts";
import { createEmbeddedTopics } from "../../../src/server/topics/embedded.ts";
import { TempFolder } from "../../harness/running-server.ts";
import { topicsConformance } from "./conformance.ts";

topicsConformance({
  name: "the server's own topics",
  isAbsent: false,
  async open() {
    const folder = new TempFolder();
    const store = createSqliteTopicStore({ path: join(folder.path, "topics.db"), programVersion: "1", clock: systemClock });
    const embedded = createEmbeddedTopics({ store: async () => store, bus: createMemoryBus() });
    return {
      topics: embedded.of("env_1"),
      create: async (topic, partitions) => void (await embedded.ensure("env_1", topic, partitions)),
      async close() {
        embedded.close();
        await store.close();
        folder[Symbol.dispose]();
      },
    };
  },
});
