/** Deliveries as tables and lines. */

import type { WebhookDelivery } from "../../../../gen/svc/v1/webhook_pb.ts";
import type { FieldViews } from "../../../output/message-view.ts";

/** The columns of a delivery. */
export const DELIVERY_COLUMNS: FieldViews<WebhookDelivery> = {
  id: "ID",
  webhookName: { header: "Webhook", cell: ({ webhookName, webhookId }) => webhookName || webhookId },
  subscription: "Event",
  state: "State",
  attempts: { header: "Attempts", cell: ({ attempts, maxAttempts }) => `${attempts}/${maxAttempts}`, align: "right" },
  eventTime: "Event Time",
  nextAttemptAt: "Next Attempt",
  error: { header: "Error", flexible: true, json: null },
};
