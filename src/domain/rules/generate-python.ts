/** Writes the Python module of rules: `bun src/domain/rules/generate-python.ts`. */

import { join } from "node:path";
import { RULES_MODULE_PATH, rulesModule } from "./python-module.ts";

await Bun.write(join(import.meta.dir, "../../..", RULES_MODULE_PATH), rulesModule());
