/** Containers that wait for commands. */

import { Failure } from "../failure.ts";

/** What such a container runs: a shell that waits until it is told to end. */
export const NOTHING_BUT_WAIT = ["/bin/sh", "-c", "trap 'exit 0' TERM INT; while :; do sleep 3600 & wait $!; done"];

/**
 * The error of a container that did not begin to wait: when its image has no shell, it says so.
 * @param needed what needs one, such as "a sandbox"
 */
export function shellLess(image: string, needed: string, error: unknown): unknown {
  if (!(error instanceof Failure && error.kind === "invalid_argument" && error.message.includes("/bin/sh"))) return error;
  return new Failure("failed_precondition", `The image '${image}' has no /bin/sh, which ${needed} needs.`, { hint: error.message });
}
