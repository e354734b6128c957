import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { headersOf, secretOf, webhookFlags, webhookIdFlags, whichWebhook } from "./flags.ts";
import { webhookDone } from "./webhook-view.ts";

export default defineCommand({
  summary: "Change given fields of a webhook",
  description:
    "Fields that are not given stay. --headers takes the place of all headers, and `{}` of none; an empty --secret ends the signing.",
  examples: [
    "svc webhook update --id ops --subscriptions deployment.failed",
    "svc webhook update --id ops --url https://hooks.example.com/other",
  ],
  needs: ["session"],
  flags: { ...webhookIdFlags, name: text("new name"), ...webhookFlags },
  check({ name, url, subscriptions, secret, headers }) {
    headersOf(headers);
    if ([name, url, secret, headers].every((given) => given === undefined) && subscriptions.length === 0)
      throw new UsageError("nothing to change is given", { hint: "Give --name, --url, --subscriptions, --secret or --headers." });
  },
  async run(context, { id, name, url, subscriptions, secret, headers }) {
    const webhooks = await context.api.webhooks();
    const webhook = await whichWebhook(context, id);
    const fields = { name, url, subscriptions, ...headersOf(headers), ...(await secretOf(context, secret)) };
    const updated = await webhooks.updateWebhook({ webhook, ...fields });
    for (const warning of updated.warnings) context.progress.warn(warning);
    return updated;
  },
  view: webhookDone("Updated"),
});
