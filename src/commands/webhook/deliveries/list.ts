import { type ListWebhookDeliveriesResponse, WebhookDeliveryState } from "../../../../gen/svc/v1/webhook_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { choice, int, text } from "../../../cli/flag.ts";
import { UsageError } from "../../../errors/cli-error.ts";
import { messageTable } from "../../../output/message-view.ts";
import { DELIVERY_COLUMNS } from "./delivery-view.ts";

const STATES = {
  pending: WebhookDeliveryState.PENDING,
  delivering: WebhookDeliveryState.DELIVERING,
  delivered: WebhookDeliveryState.DELIVERED,
  dead: WebhookDeliveryState.DEAD,
} as const;
const MAX_LIMIT = 1_000;

export default defineCommand({
  summary: "List deliveries, newest first",
  description:
    "A delivery is pending until its receiver took it; after eight attempts, or at once when another would end the same way, it is a dead letter. Of each " +
    "webhook the newest ended ones are kept. Events that found no room are dropped, and counted.",
  examples: ["svc webhook deliveries list", "svc webhook deliveries list --webhook ops --state dead"],
  needs: ["session"],
  flags: {
    webhook: text("only those of this webhook, by name or id"),
    state: choice("only those in this state", ["pending", "delivering", "delivered", "dead"]),
    limit: int("most deliveries, at most 1000", { default: 100 }),
    cursor: text("continue a list after this cursor", { aliases: ["--page-token"] }),
  },
  check({ limit }) {
    if (limit < 1 || limit > MAX_LIMIT) throw new UsageError(`--limit is a number from 1 to ${MAX_LIMIT}`);
  },
  async run({ api, progress }, { webhook = "", state, limit, cursor = "" }) {
    const answer = await (await api.webhooks()).listWebhookDeliveries({
      webhook,
      state: state === undefined ? WebhookDeliveryState.UNSPECIFIED : STATES[state],
      pageSize: limit,
      pageToken: cursor,
    });
    if (answer.nextPageToken !== "") progress.note(`There are more: --cursor ${answer.nextPageToken}`);
    if (answer.dropped > 0n) progress.warn(`The server has dropped ${answer.dropped} events since it started: too many waited.`);
    return answer;
  },
  view: messageTable<ListWebhookDeliveriesResponse>("deliveries", DELIVERY_COLUMNS),
});
