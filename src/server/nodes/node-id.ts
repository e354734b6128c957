/** The id of this server among the nodes of a platform. */

import type { Clock } from "../../context/clock.ts";
import { reasonAt } from "../../disk/disk-error.ts";
import { readPrivateFile, writePrivateFile } from "../../disk/private-file.ts";
import { newId } from "../identifier.ts";
import type { Log } from "../log.ts";

/**
 * The id that a file keeps from start to start; a new one when the file has no valid id. The data
 * directory's lock ensures that no other process uses it. While the file cannot be written, each
 * start has another id, and continues the jobs of the one before only when their leases have ended.
 */
export function readNodeId(path: string, { clock, log }: { readonly clock: Clock; readonly log: Log }): string {
  const known = readPrivateFile(path)?.trim() ?? "";
  if (/^node_[0-9a-f]{32}$/.test(known)) return known;
  const id = newId("node", clock.now());
  try {
    writePrivateFile(path, `${id}\n`);
  } catch (error) {
    log.warning("the id of this node could not be kept", { reason: reasonAt(path, error) });
  }
  return id;
}
