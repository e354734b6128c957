/** Who this server is among the nodes of a platform. */

import { readPrivateFile, writePrivateFile } from "../disk/private-file.ts";
import { newId } from "./identifier.ts";

/** The id that a file keeps from start to start; a new one when it has none that is whole. The data directory's lock sees to it that no other process has it. */
export function readNodeId(path: string, now: number): string {
  const known = readPrivateFile(path)?.trim() ?? "";
  if (/^node_[0-9a-f]{32}$/.test(known)) return known;
  const id = newId("node", now);
  writePrivateFile(path, `${id}\n`);
  return id;
}
