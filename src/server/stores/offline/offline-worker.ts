/**
 * Worker thread of the offline store; there is one for writing and one for reading, each with its
 * own connection.
 */

import { serve } from "../../thread/rpc.ts";
import { toOfflineError } from "./damage.ts";
import { OfflineReader } from "./reader.ts";
import { OfflineWriter } from "./writer.ts";

/** Settings of a thread of the store. */
export interface OfflineThreadSettings {
  readonly half: "write" | "read";
  /** Absolute path of `offline.db`. */
  readonly path: string;
  readonly programVersion: string;
}

serve<OfflineWriter | OfflineReader, OfflineThreadSettings>({
  make: ({ half, path, programVersion }) => (half === "write" ? new OfflineWriter(path, programVersion) : new OfflineReader(path)),
  close: (half) => half.close(),
  explain: (error, { path }) => toOfflineError(path, error),
});
