import type { GetWebhookDeliveryResponse } from "../../../../gen/svc/v1/webhook_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { arg } from "../../../cli/flag.ts";
import { visibleLines } from "../../../domain/visible.ts";
import type { Fact } from "../../../output/facts.ts";
import { answerFields } from "../../../output/message-view.ts";
import { timeText } from "../../../output/time.ts";
import { DELIVERY_COLUMNS } from "./delivery-view.ts";

export default defineCommand({
  summary: "Show a delivery: what was sent, and what was answered",
  description:
    "The body is the same on all attempts. Of the receiver's last answer the first 1,024 characters are kept, without the webhook's secret and the values of " +
    "its headers; of events that have values of features only the status is.",
  examples: ["svc webhook deliveries get job_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c"],
  needs: ["session"],
  args: { id: arg("id of the delivery") },
  run: async ({ api }, { id }) => (await api.webhooks()).getWebhookDelivery({ id }),
  view: answerFields(({ delivery }: GetWebhookDeliveryResponse) => delivery, DELIVERY_COLUMNS, sentAndAnswered),
});

function sentAndAnswered({ answer, body }: GetWebhookDeliveryResponse): Fact[] {
  const sent: Fact = ["Sent", visibleLines(body)];
  if (!answer) return [sent, ["Answer", "none came"]];
  const text = visibleLines(answer.body.trimEnd()) + (answer.cut ? " ..." : "");
  return [
    sent,
    ["Answered", [String(answer.statusCode), answer.answeredAt ? timeText(answer.answeredAt) : ""].join("  ").trimEnd()],
    ["Answer", text],
  ];
}
