import type { RedeliverWebhookDeliveryResponse } from "../../../../gen/svc/v1/webhook_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { arg } from "../../../cli/flag.ts";
import { resourceFields } from "../../../output/message-view.ts";

export default defineCommand({
  summary: "Make an ended delivery once more",
  description: "The same body is sent with the same idempotency key, up to eight times more.",
  examples: ["svc webhook deliveries redeliver job_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c"],
  needs: ["session"],
  args: { id: arg("id of the delivery") },
  run: async ({ api }, { id }) => (await api.webhooks()).redeliverWebhookDelivery({ id }),
  view: resourceFields(({ delivery }: RedeliverWebhookDeliveryResponse) => delivery, { id: "Queued", subscription: "Event" }),
});
