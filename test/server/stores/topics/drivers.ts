import { join } from "node:path";
import { createSqliteTopicStore } from "../../../../src/server/stores/topics/sqlite.ts";
import type { TopicStore } from "../../../../src/server/stores/topics/store.ts";
import type { Driver } from "../driver.ts";

function open(path: string, now: () => number): TopicStore {
  return createSqliteTopicStore({ path, programVersion: "1", clock: { now, sleep: (ms) => Bun.sleep(ms) } });
}

/** Every driver of the store of topics. */
export const TOPIC_DRIVERS: readonly (Driver<TopicStore> & {
  /** Whether messages outlive `close`. */
  readonly isDurable: boolean;
})[] = [
  { name: "SQLite file", isDurable: true, open: (folder, { now = Date.now } = {}) => open(join(folder, "topics.db"), now) },
  { name: "SQLite in memory", isDurable: false, open: (_, { now = Date.now } = {}) => open(":memory:", now) },
];
