/** Parts of a table engine for tests. */

import type { Log } from "../../../src/server/log.ts";

/** A log that nobody reads. */
export const SILENT_LOG = { debug() {}, info() {}, warning() {}, error() {} } as unknown as Log;
