/** The image `host:`, by which a program of the server's own machine is asked for. */

import { isAbsolute } from "node:path";
import { Failure } from "../../failure.ts";

const PREFIX = "host:";

/** Whether an image means the server's own machine. */
export function isHostImage(image: string): boolean {
  return image.startsWith(PREFIX);
}

/**
 * The working folder that `host:/path` names; undefined for `host:`, which is a folder of its own.
 * Throws Failure invalid_argument.
 */
export function hostFolder(image: string): string | undefined {
  const path = image.slice(PREFIX.length);
  if (path === "" || isAbsolute(path)) return path || undefined;
  throw new Failure("invalid_argument", `'${image.slice(0, 100)}' names no folder of the server's machine.`, {
    hint: "`host:` is a folder of the program's own, and host:/path one that is there.",
  });
}
