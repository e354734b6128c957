/** The pages that the dashboard has, read from its table of routes without running it. */

import { join } from "node:path";
import type { PageName } from "../../src/domain/addresses.ts";

const TABLE = join(import.meta.dir, "../../src/ui/routes.ts");

/** Their names. */
export const ROUTED: readonly PageName[] = [...(await Bun.file(TABLE).text()).matchAll(/^ {2}(\w+): route\("(\w+)"/gm)].map(
  ([, name]) => name as PageName,
);
