/** Every kind of source does what the suite asks for, on a real database. */

import { sourceConformance } from "./conformance.ts";
import { SOURCES } from "./drivers.ts";

for (const kind of SOURCES) sourceConformance(kind);
