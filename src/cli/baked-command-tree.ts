/** The tree of the commands in `src/commands`. */

import { treeFacts } from "./tree-facts.ts";

/** See `treeFacts`. */
export const facts = await treeFacts("../commands");
