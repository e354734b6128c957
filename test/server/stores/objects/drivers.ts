import { join } from "node:path";
import { createObjectAddresses } from "../../../../src/server/access/object-addresses.ts";
import { createDirectoryObjectStore } from "../../../../src/server/stores/objects/directory.ts";
import type { ObjectStore } from "../../../../src/server/stores/objects/store.ts";
import { TestClock } from "../../../harness/running-server.ts";
import type { Driver } from "../driver.ts";

/** The drivers of the object store. */
export const OBJECT_DRIVERS: readonly Driver<ObjectStore>[] = [
  {
    name: "directory",
    open: (folder) =>
      createDirectoryObjectStore(
        join(folder, "objects"),
        createObjectAddresses({ keys: [{ id: "k", secret: new Uint8Array(32).fill(7) }], clock: new TestClock() }),
      ),
  },
];
