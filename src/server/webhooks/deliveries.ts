/**
 * Deliveries: the outbox is the queue of jobs, a job for each event and webhook, so that what was
 * queued survives this process and is delivered at least once. All attempts have the same body and
 * the same idempotency key.
 */

import { createHash } from "node:crypto";
import type { Clock } from "../../context/clock.ts";
import type { Sealer } from "../access/sealing.ts";
import type { Collection } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import { newId } from "../identifier.ts";
import type { Bus } from "../jobs/bus.ts";
import { JobFailed, type JobHandler } from "../jobs/runner.ts";
import type { Log } from "../log.ts";
import type { JobRecord, JobState, JobStore, NewJob } from "../stores/metadata/jobs.ts";
import { ATTEMPT_MS, type Attempted, type Send } from "./send.ts";
import { signedHeaders } from "./signature.ts";
import { type Webhook, type WebhookContent, webhookSecrets } from "./webhook.ts";

/** The kind of the jobs that deliver. */
export const DELIVERY_JOB = "webhook-delivery";

/** An event as a webhook is told of it. */
export interface WebhookEvent {
  /** The event type. */
  readonly subscription: string;
  /** JSON value. */
  readonly payload: unknown;
  /** When it happened, epoch milliseconds. */
  readonly at: number;
  /** The same for the same event, whoever tells of it. */
  readonly key: string;
}

/** The payload of a delivery's job. */
export interface DeliveryPayload extends Omit<WebhookEvent, "key"> {
  readonly webhookId: string;
  readonly idempotencyKey: string;
}

/** A page of deliveries. */
export interface DeliveryFilter {
  readonly environmentId: string;
  readonly webhookId?: string;
  readonly states?: readonly JobState[];
  /** Only those that were queued before this one. */
  readonly before?: string;
  readonly limit: number;
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
  /** Makes one attempt now, outside of the outbox. */
  deliverNow(webhook: Webhook, event: WebhookEvent): Promise<Attempted>;
  /** Deliveries, newest first. */
  list(filter: DeliveryFilter): Promise<JobRecord[]>;
  /** Queues an ended delivery once more. Throws Failure. */
  redeliver(environmentId: string, id: string): Promise<JobRecord>;
  /** The handler of DELIVERY_JOB jobs. */
  readonly handler: JobHandler;
}

/** Attempts after which a delivery is a dead letter. */
export const MAX_ATTEMPTS = 8;
const FIRST_BACKOFF_MS = 5_000;
const LONGEST_BACKOFF_MS = 4 * 3_600_000;
/** Deliveries of a webhook that may wait; further events are dropped. */
export const MAX_WAITING = 1_000;
/** Deliveries of a webhook that are kept after they ended, of each state. */
const KEPT = { succeeded: 500, failed: 1_000, cancelled: 100 } as const;
const TRIM_EVERY = 100;
const TRIM_BATCH = 1_000;
/** Deliveries under way to one host, counted over all nodes. */
export const SLOTS_PER_HOST = 16;
/**
 * Milliseconds for which the ends of attempts are collected, so that many are written in one step:
 * each step waits for the disk, and queries with it.
 */
const SETTLE_MS = 100;
const ATTEMPT_TIMEOUT_MS = ATTEMPT_MS + 20_000;

/**
 * Milliseconds to wait after a number of attempts (from 1): exponential, half of it random, so that
 * eight attempts span some hours and receivers that failed together are not called together.
 */
export function deliveryBackoffMs(attempts: number, random: () => number = Math.random): number {
  const whole = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 4 ** (attempts - 1));
  return Math.round(whole * (0.5 + random() / 2));
}

/** Makes the capability. */
export function createDeliveries(options: {
  readonly jobs: JobStore;
  readonly webhooks: Pick<Collection<WebhookContent>, "find">;
  readonly sealer: Sealer;
  readonly send: Send;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  /** Version of the program, for the user agent. */
  readonly version: string;
}): Deliveries {
  const { jobs, webhooks, sealer, send, bus, clock, log, version } = options;
  const dropped = new Map<string, number>();
  const untrimmed = new Map<string, number>();
  let settling: Promise<void> | undefined;

  const settleTogether = (): Promise<void> => {
    settling ??= clock.sleep(SETTLE_MS).finally(() => {
      settling = undefined;
    });
    return settling;
  };

  const attempt = async (
    { id, scope: environmentId, content }: Webhook,
    { subscription, payload, at, idempotencyKey }: Omit<DeliveryPayload, "webhookId">,
    signal?: AbortSignal,
  ): Promise<Attempted> => {
    const { secret, headers } = await webhookSecrets(sealer, environmentId).open(content);
    const body = JSON.stringify({
      environment_id: environmentId,
      webhook_id: id,
      subscription,
      payload,
      event_timestamp: new Date(at).toISOString(),
      idempotency_key: idempotencyKey,
    });
    const own = {
      "content-type": "application/json",
      ...(Object.keys(headers).some((name) => name.toLowerCase() === "user-agent") ? {} : { "user-agent": `svc/${version}` }),
      ...signedHeaders({ id: idempotencyKey, at: clock.now(), body }, secret),
    };
    return send({ url: content.url, headers: { ...headers, ...own }, body }, signal);
  };

  const countDropped: Deliveries["countDropped"] = (environmentId, events) => {
    if (events <= 0) return;
    const before = dropped.get(environmentId) ?? 0;
    dropped.set(environmentId, before + events);
    if (before === 0) log.warning("events for webhooks are dropped: too many wait", { environment: environmentId });
  };

  const trim = async (scope: string, added: number): Promise<void> => {
    const count = (untrimmed.get(scope) ?? 0) + added;
    untrimmed.set(scope, count < TRIM_EVERY ? count : 0);
    if (count < TRIM_EVERY) return;
    for (const state of Object.keys(KEPT) as (keyof typeof KEPT)[])
      await jobs.trim({ kind: DELIVERY_JOB, scope, state }, KEPT[state], TRIM_BATCH);
  };

  return {
    async enqueue(webhook, events) {
      const scope = scopeOf(webhook);
      const stored = await jobs.enqueueWithin(
        { kind: DELIVERY_JOB, scope },
        MAX_WAITING,
        events.map((event) => deliveryJob(webhook, event, clock.now())),
      );
      countDropped(webhook.scope, events.length - stored);
      if (stored > 0) bus.publish("jobs");
      await trim(scope, stored);
    },
    countDropped,
    dropped: (environmentId) => dropped.get(environmentId) ?? 0,
    deliverNow: (webhook, event) => attempt(webhook, { ...event, idempotencyKey: idempotencyKeyOf(webhook.id, event.key) }),
    list: ({ environmentId, webhookId, ...filter }) =>
      jobs.list({ ...filter, kind: DELIVERY_JOB, scope: webhookId === undefined ? environmentId : `${environmentId}/${webhookId}` }),

    async redeliver(environmentId, id) {
      const job = await jobs.job(id);
      const hint = "`svc webhook deliveries list` shows all.";
      if (job?.kind !== DELIVERY_JOB || !job.scope.startsWith(`${environmentId}/`))
        throw new Failure("not_found", `There is no delivery '${id}'.`, { hint });
      const { webhookId } = job.payload as DeliveryPayload;
      if (!(await webhooks.find(environmentId, webhookId)))
        throw new Failure("failed_precondition", `The webhook of the delivery ${id} was deleted.`);
      const again = await jobs.retry(id, MAX_ATTEMPTS, MAX_WAITING);
      if (again === "full")
        throw new Failure("resource_exhausted", `${MAX_WAITING} deliveries to the webhook wait already, which is the most.`);
      if (!again) throw new Failure("failed_precondition", `The delivery ${id} has not ended: it is tried again by itself.`, { hint });
      bus.publish("jobs");
      return again;
    },

    handler: {
      isQuiet: true,
      backoffMs: deliveryBackoffMs,
      async run({ scope, payload }, { signal }) {
        const delivery = payload as DeliveryPayload;
        const webhook = await webhooks.find(environmentOf(scope), delivery.webhookId);
        if (!webhook) throw new JobFailed("the webhook was deleted");
        const { error, isFinal } = await attempt(webhook, delivery, signal);
        signal.throwIfAborted();
        await settleTogether();
        if (error !== "") throw isFinal ? new JobFailed(error) : new Error(error);
      },
      giveUp: () => Promise.resolve(),
    },
  };
}

function deliveryJob(webhook: Webhook, { subscription, payload, at, key }: WebhookEvent, now: number): NewJob {
  const idempotencyKey = idempotencyKeyOf(webhook.id, key);
  const delivery: DeliveryPayload = { webhookId: webhook.id, subscription, payload, at, idempotencyKey };
  return {
    id: newId("job", now),
    kind: DELIVERY_JOB,
    scope: scopeOf(webhook),
    payload: delivery,
    group: { name: `${DELIVERY_JOB}:${new URL(webhook.content.url).host}`, slots: SLOTS_PER_HOST },
    idempotencyKey,
    maxAttempts: MAX_ATTEMPTS,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  };
}

/** Both webhooks of an address are told of an event, each under a key of its own. */
function idempotencyKeyOf(webhookId: string, eventKey: string): string {
  return `msg_${createHash("sha256").update(`${webhookId}\n${eventKey}`).digest("hex").slice(0, 32)}`;
}

function scopeOf({ id, scope }: Webhook): string {
  return `${scope}/${id}`;
}

function environmentOf(scope: string): string {
  return scope.slice(0, scope.indexOf("/"));
}
