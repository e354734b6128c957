/** The pages that the dashboard has. */

import { ROUTES } from "../../ui/routes.ts";

/** Their names. */
export const pageNames = Object.keys(ROUTES);
