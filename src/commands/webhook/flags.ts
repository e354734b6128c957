/** Flags with which webhooks are created, changed and named. */

import type { WebhookHeaders } from "../../../gen/svc/v1/webhook_pb.ts";
import { json, list, text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { givenOrPicked } from "../pick-flags.ts";

/** Flags for what a webhook is. */
export const webhookFlags = {
  url: text("address that receives the events, http or https"),
  subscriptions: list(text("event types, such as query.run or feature.computed:user.score"), { split: true }),
  secret: text("key of the signatures, whsec_... or any text; - asks for it, or reads stdin", {
    secret: "--secret -",
  }),
  headers: json('headers of every delivery, as a JSON object: {"Authorization": "Bearer ..."}'),
};

/** `--id`: the webhook that a command is about; else it is picked. */
export const webhookIdFlags = { id: text("id or name of the webhook; else it is picked on a terminal") };

/** The webhook that was given, else the one that the user picks. */
export function whichWebhook(context: Pick<Context, "prompt" | "api">, id: string | undefined): Promise<string> {
  const listed = async () => (await (await context.api.webhooks()).listWebhooks({})).webhooks;
  return givenOrPicked(context, id, { question: "Which webhook?", flag: "--id", list: listed });
}

/** The headers of the flag. Throws UsageError unless they are an object of texts. */
export function headersOf(given: unknown): { readonly headers?: Omit<WebhookHeaders, "$typeName"> } {
  if (given === undefined) return {};
  const isObject = typeof given === "object" && given !== null && !Array.isArray(given);
  if (!isObject || Object.values(given).some((value) => typeof value !== "string"))
    throw new UsageError("--headers is not a JSON object of texts", { hint: `For example --headers '{"X-Team": "fraud"}'` });
  return { headers: { values: given as Record<string, string> } };
}

/** The secret of the flag; `-` is asked for, or read from stdin. */
export async function secretOf({ prompt }: Pick<Context, "prompt">, given: string | undefined): Promise<{ readonly secret?: string }> {
  if (given === undefined) return {};
  return { secret: given === "-" ? await prompt.secret("secret of the webhook") : given };
}
