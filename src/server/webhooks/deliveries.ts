/** Deliveries as their readers and the events of this server see them. */

import type { SilencedValues } from "../deletions/deleted-values.ts";
import type { Collection } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import type { Log } from "../log.ts";
import type { JobRecord } from "../stores/metadata/jobs.ts";
import { DELIVERY_JOB, type DeliveryPayload, type WebhookEvent } from "./delivery.ts";
import { type DeliveryFilter, MAX_WAITING, type Outbox } from "./outbox.ts";
import type { Webhook, WebhookContent } from "./webhook.ts";

/** The deliveries of all environments. */
export interface Deliveries {
  /**
   * Queues events for a webhook, durably when this resolves; an event that was queued before is not
   * queued again. What finds no room is dropped and counted.
   */
  enqueue(webhook: Webhook, events: readonly WebhookEvent[]): Promise<void>;
  /** Counts events of an environment that were dropped before they were queued. */
  countDropped(environmentId: string, events: number): void;
  /** Events of an environment that this process dropped. */
  dropped(environmentId: string): number;
  /** The same of all environments. */
  droppedOfAll(): number;
  /** Deliveries, newest first. */
  list(filter: DeliveryFilter): Promise<JobRecord[]>;
  /** Queues an ended delivery once more. Throws Failure. */
  redeliver(environmentId: string, id: string): Promise<JobRecord>;
  /** Removes values from all deliveries, and returns their number. */
  silence(values: SilencedValues): Promise<number>;
  /** Removes deliveries that ended long ago. */
  purge(): Promise<void>;
  /** Removes all deliveries of an environment. */
  forget(environmentId: string): Promise<void>;
}

/** Makes the capability. */
export function createDeliveries({
  outbox,
  webhooks,
  log,
}: {
  readonly outbox: Outbox;
  readonly webhooks: Pick<Collection<WebhookContent>, "find">;
  readonly log: Log;
}): Deliveries {
  const dropped = new Map<string, number>();

  const countDropped: Deliveries["countDropped"] = (environmentId, events) => {
    if (events <= 0) return;
    const before = dropped.get(environmentId) ?? 0;
    dropped.set(environmentId, before + events);
    if (before === 0) log.warning("events for webhooks are dropped: too many wait", { environment: environmentId });
  };

  return {
    async enqueue({ id, scope: environmentId, content }, events) {
      const stored = await outbox.enqueue({ id, environmentId, url: content.url }, events);
      countDropped(environmentId, events.length - stored);
    },
    countDropped,
    dropped: (environmentId) => dropped.get(environmentId) ?? 0,
    droppedOfAll: () => [...dropped.values()].reduce((sum, events) => sum + events, 0),
    list: outbox.list,
    silence: outbox.silence,
    purge: outbox.purge,
    forget: outbox.forget,

    async redeliver(environmentId, id) {
      const job = await outbox.delivery(id);
      const hint = "`svc webhook deliveries list` shows all.";
      if (job?.kind !== DELIVERY_JOB || !job.scope.startsWith(`${environmentId}/`))
        throw new Failure("not_found", `There is no delivery '${id}'.`, { hint });
      const { webhookId } = job.payload as DeliveryPayload;
      if (!(await webhooks.find(environmentId, webhookId)))
        throw new Failure("failed_precondition", `The webhook of the delivery ${id} was deleted.`);
      const again = await outbox.redeliver(id);
      if (again === "full")
        throw new Failure("resource_exhausted", `${MAX_WAITING} deliveries to the webhook wait already, which is the most.`);
      if (!again) throw new Failure("failed_precondition", `The delivery ${id} has not ended: it is tried again by itself.`, { hint });
      return again;
    },
  };
}
