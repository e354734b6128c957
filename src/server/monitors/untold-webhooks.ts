/** Rule 176: webhooks that monitors name and that would not be told. */

import type { Diagnostic } from "../../../gen/svc/v1/error_pb.ts";
import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import { didYouMean } from "../../domain/closest.ts";
import { finding } from "../../domain/finding.ts";
import { UNTOLD_WEBHOOK } from "../../domain/rules/graph.ts";
import { subscribesTo } from "../webhooks/subscription.ts";
import type { Webhook } from "../webhooks/webhook.ts";

const EVENTS = ["monitor.firing", "monitor.resolved"] as const;

/** Warnings about the monitors of a graph, with the webhooks of its environment. */
export function untoldWebhooks({ monitors }: Graph, webhooks: readonly Pick<Webhook, "name" | "content">[]): Diagnostic[] {
  const byName = new Map(webhooks.map(({ name, content }) => [name, content.subscriptions]));
  return monitors.flatMap(({ name: monitor, span, webhooks: named }) =>
    named.flatMap((webhook) => {
      const subscriptions = byName.get(webhook);
      if (subscriptions === undefined) {
        const near = didYouMean(webhook, byName.keys());
        const hint = "`svc webhook list` shows those that there are; create one that subscribes to monitor.firing and monitor.resolved.";
        return [finding(UNTOLD_WEBHOOK.missing({ monitor, webhook, near: near && `; ${near}` }), span, { hint })];
      }
      const missed = EVENTS.filter((event) => !subscribesTo(subscriptions, event)).join(" and ");
      if (missed === "") return [];
      const hint = `Add ${missed} to its subscriptions with \`svc webhook update\`.`;
      return [finding(UNTOLD_WEBHOOK.unsubscribed({ monitor, webhook, events: missed }), span, { hint })];
    }),
  );
}
