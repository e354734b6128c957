/** Webhooks as tables and lines. */

import type { Webhook } from "../../../gen/svc/v1/webhook_pb.ts";
import { type FieldViews, resourceFields } from "../../output/message-view.ts";
import type { View } from "../../output/view.ts";

/** The columns of a webhook in a list. */
export const WEBHOOK_COLUMNS: FieldViews<Webhook> = {
  name: "Name",
  url: { header: "URL", flexible: true },
  subscriptions: "Subscriptions",
  updatedAt: "Updated",
};

/** What was done with a webhook, with its id and name. */
export function webhookDone<A extends { readonly webhook?: Webhook }>(did: string): View<A> {
  return resourceFields<A, Webhook>(({ webhook }) => webhook, { id: did, name: "Name" });
}
