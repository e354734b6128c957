import { WebhookDeliveryState } from "../../../gen/svc/v1/webhook_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { webhookIdFlags, whichWebhook } from "./flags.ts";
import { webhookDone } from "./webhook-view.ts";

/** Most waiting deliveries that the question counts. */
const MAX_COUNTED = 1_000;

export default defineCommand({
  summary: "Delete a webhook",
  description: "Deliveries that wait for it are not made.",
  examples: ["svc webhook delete --id ops", "svc webhook delete --id ops --yes"],
  needs: ["session"],
  flags: { ...webhookIdFlags, ...confirmFlags },
  async run(context, { force, id }) {
    const webhooks = await context.api.webhooks();
    const webhook = await whichWebhook(context, id);
    if (!force) {
      const pending = { webhook, state: WebhookDeliveryState.PENDING, pageSize: MAX_COUNTED };
      const { deliveries, nextPageToken } = await webhooks.listWebhookDeliveries(pending);
      const waiting = nextPageToken === "" ? String(deliveries.length) : `${MAX_COUNTED} or more`;
      const taken = deliveries.length === 0 ? "" : ` Waiting deliveries that are then not made: ${waiting}.`;
      await confirm(context, { force }, `Delete the webhook ${webhook}?${taken}`);
    }
    return webhooks.deleteWebhook({ webhook });
  },
  view: webhookDone("Deleted"),
});
