import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { headersOf, secretOf, webhookFlags } from "./flags.ts";
import { webhookDone } from "./webhook-view.ts";

export default defineCommand({
  summary: "Create a webhook",
  description:
    "Events are query.run, resolver.run, feature.computed (or feature.computed:user.score for one feature, feature.computed:tag=fraud for those of a " +
    "tag), deployment.live, deployment.failed, deployment.waiting (for approval), monitor.firing, monitor.resolved and stream.stopped. Each is sent as a POST of JSON, again and again for some hours until the " +
    "receiver answers with a status of success. With a secret it is signed as Standard Webhooks says. Events of a traced query carry its traceparent header.",
  examples: [
    "svc webhook create --name ops --url https://hooks.example.com/svc --subscriptions deployment.live,deployment.failed",
    {
      run: "cat secret.txt | svc webhook create --name audit --url https://hooks.example.com/svc --subscriptions query.run --secret -",
      does: "Signed, with a secret that no other program sees",
    },
  ],
  needs: ["session"],
  flags: { name: text("name", { required: true }), ...webhookFlags },
  check({ url, subscriptions, headers }) {
    if (url === undefined) throw new UsageError("--url is missing");
    if (subscriptions.length === 0) throw new UsageError("--subscriptions is missing");
    headersOf(headers);
  },
  async run(context, { name, url = "", subscriptions, secret, headers }) {
    const webhooks = await context.api.webhooks();
    const fields = { name, url, subscriptions, ...headersOf(headers), ...(await secretOf(context, secret)) };
    const created = await webhooks.createWebhook(fields);
    for (const warning of created.warnings) context.progress.warn(warning);
    return created;
  },
  view: webhookDone("ID"),
});
