/** The number of items that a list of jobs or workflows leaves out. */

import { MAX_OFFSET } from "../../domain/pages.ts";
import { Failure } from "../failure.ts";

/** Throws Failure invalid_argument for an offset that is out of bounds. */
export function checkOffset(offset: number): void {
  if (offset < 0 || offset > MAX_OFFSET)
    throw new Failure("invalid_argument", `The offset is from 0 to ${MAX_OFFSET}.`, { hint: "A page token continues further on." });
}
