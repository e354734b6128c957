import type { TestWebhookResponse } from "../../../gen/svc/v1/webhook_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { messageFields } from "../../output/message-view.ts";
import { whichWebhook } from "./flags.ts";

export default defineCommand({
  summary: "Deliver a test event now and show what became of it",
  description: "The event webhook.test is sent once, with the webhook's headers and signature. Exit code 1 when it was not taken.",
  examples: ["svc webhook test ops", "svc webhook test ops --json"],
  needs: ["session"],
  args: { name: optionalArg("name or id of the webhook; else it is picked on a terminal") },
  async run(context, { name }) {
    const webhook = await whichWebhook(context, name);
    return (await context.api.webhooks()).testWebhook({ webhook });
  },
  exitCode: ({ delivered }) => (delivered ? 0 : 1),
  view: messageFields<TestWebhookResponse>({
    webhook: { header: "Webhook", cell: ({ webhook }) => webhook?.name ?? "", json: ({ webhook }) => webhook?.id ?? null },
    delivered: { header: "Delivered", cell: ({ delivered }) => (delivered ? "yes" : "no") },
    statusCode: { header: "Status", cell: ({ statusCode }) => (statusCode === 0 ? "no answer" : String(statusCode)) },
    error: { header: "Error", json: null },
    duration: "Took",
  }),
});
