/** Deliveries as their readers and the events of this server see them. */

import { allows } from "../../domain/permissions.ts";
import type { SilencedValues } from "../deletions/deleted-values.ts";
import type { Collection } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import type { Log } from "../log.ts";
import type { JobRecord } from "../stores/metadata/jobs.ts";
import type { DeliveryAnswer } from "../stores/metadata/outbox.ts";
import { DELIVERY_JOB, type DeliveryPayload, deliveryBody, hasValues, type WebhookEvent } from "./delivery.ts";
import { type DeliveryFilter, MAX_WAITING, type Outbox } from "./outbox.ts";
import type { Webhook, WebhookContent } from "./webhook.ts";

/** A delivery with what was sent and answered. */
export interface ToldDelivery {
  readonly job: JobRecord;
  /** The body, the same on all attempts. */
  readonly body: string;
  /** What the receiver answered last; undefined = it never did. */
  readonly answer: DeliveryAnswer | undefined;
}

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
  /**
   * A delivery with what was sent and answered. Throws Failure not_found, and permission_denied
   * when its event has values that the reader may not query.
   */
  get(environmentId: string, reader: { readonly permissions: readonly string[] }, id: string): Promise<ToldDelivery>;
  /** Queues an ended delivery once more. Throws Failure. */
  redeliver(environmentId: string, id: string): Promise<JobRecord>;
  /** Removes values from all deliveries, and returns their number. */
  silence(values: SilencedValues): Promise<number>;
  /** Removes deliveries that ended long ago. */
  purge(): Promise<void>;
  /** Removes all deliveries of an environment. */
  forget(environmentId: string): Promise<void>;
}

const LISTED = "`svc webhook deliveries list` shows all.";

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

  /** The job of a delivery. Throws Failure not_found. */
  const find = async (environmentId: string, id: string): Promise<JobRecord> => {
    const job = await outbox.delivery(id);
    if (job?.kind !== DELIVERY_JOB || !job.scope.startsWith(`${environmentId}/`))
      throw new Failure("not_found", `There is no delivery '${id}'.`, { hint: LISTED });
    return job;
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

    async get(environmentId, { permissions }, id) {
      const job = await find(environmentId, id);
      const delivery = job.payload as DeliveryPayload;
      if (hasValues(delivery) && !allows(permissions, "query.online"))
        throw new Failure("permission_denied", `The delivery ${id} has values of features, and your client may not query them.`, {
          hint: "Ask for the permission query.online.",
        });
      return { job, body: deliveryBody(environmentId, delivery), answer: await outbox.answer(delivery.idempotencyKey) };
    },

    async redeliver(environmentId, id) {
      const { webhookId } = (await find(environmentId, id)).payload as DeliveryPayload;
      if (!(await webhooks.find(environmentId, webhookId)))
        throw new Failure("failed_precondition", `The webhook of the delivery ${id} was deleted.`);
      const again = await outbox.redeliver(id);
      if (again === "full")
        throw new Failure("resource_exhausted", `${MAX_WAITING} deliveries to the webhook wait already, which is the most.`);
      if (!again)
        throw new Failure("failed_precondition", `The delivery ${id} has not ended: it is tried again by itself.`, { hint: LISTED });
      return again;
    },
  };
}
