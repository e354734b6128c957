/** What a capability made of collections is given in a test: a metadata store and a bus of its own. */

import { afterEach, beforeEach } from "bun:test";
import { join } from "node:path";
import type { CollectionParts } from "../../../src/server/documents/collection.ts";
import { type Bus, createMemoryBus } from "../../../src/server/jobs/bus.ts";
import { createLog } from "../../../src/server/log.ts";
import { createSqliteMetadataStore } from "../../../src/server/stores/metadata/sqlite.ts";
import type { MetadataStore } from "../../../src/server/stores/metadata/store.ts";
import { TempFolder, TestClock } from "../../harness/running-server.ts";

/** Nodes on one store and one bus, which every test has anew. */
export interface TestNodes {
  /** The parts of one more node. */
  parts(): CollectionParts;
  /** Closes something at the end of the test, and returns it. */
  closing<T extends { close(): Promise<void> }>(opened: T): T;
}

/** Opens them before each test of the file, and closes them after. */
export function nodesOfEachTest(): TestNodes {
  let folder: TempFolder;
  let store: MetadataStore;
  let bus: Bus;
  let opened: { close(): Promise<void> }[];
  beforeEach(() => {
    folder = new TempFolder();
    store = createSqliteMetadataStore({ path: join(folder.path, "meta.db"), programVersion: "1.0.0" });
    bus = createMemoryBus();
    opened = [];
  });
  afterEach(async () => {
    for (const one of opened) await one.close();
    await store.close();
    folder[Symbol.dispose]();
  });
  return {
    parts() {
      const clock = new TestClock();
      return { documents: store.documents, bus, clock, log: createLog({ clock, write: () => undefined }) };
    },
    closing(one) {
      opened.push(one);
      return one;
    },
  };
}
