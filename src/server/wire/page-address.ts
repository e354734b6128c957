/** Addresses of the dashboard's pages, as answers have them. */

import { addressOf, type PageName, type PageParameters } from "../../domain/addresses.ts";
import type { Platform } from "./platform.ts";

/**
 * The full address of a page of an environment, as the sender of `headers` reaches it; empty on a
 * server without a dashboard.
 * @param environmentId its id, or its name
 */
export function pageAddress<P extends PageName>(
  { addressFor, headless }: Pick<Platform, "addressFor" | "headless">,
  headers: Headers,
  environmentId: string,
  page: P,
  params: PageParameters<P>,
): string {
  return headless ? "" : addressFor(headers) + addressOf(page, params, { environment: environmentId });
}
