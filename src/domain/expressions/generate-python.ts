/** Writes the Python module of functions: `bun src/domain/expressions/generate-python.ts`. */

import { join } from "node:path";
import { PYTHON_MODULE_PATH, pythonModule } from "./python-module.ts";

await Bun.write(join(import.meta.dir, "../../..", PYTHON_MODULE_PATH), pythonModule());
