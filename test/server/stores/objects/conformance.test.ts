/** Every driver of the object store does what the suite asks for. */

import { objectsConformance } from "./conformance.ts";
import { OBJECT_DRIVERS } from "./drivers.ts";

for (const driver of OBJECT_DRIVERS) objectsConformance(driver);
