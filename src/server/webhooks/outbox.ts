/**
 * The outbox: a queue with a job for each event and webhook, so that what was queued survives this
 * process and is delivered at least once; and the runner that makes the deliveries. A server has it
 * in a thread of its own (`outbox-thread.ts`), because its writes wait for the disk.
 */

import { DAY_MS } from "../../domain/day.ts";
import { isSilenced, type SilencedValues } from "../deletions/deleted-values.ts";
import { createMemoryBus } from "../jobs/bus.ts";
import { JobFailed, type JobHandler, type JobRunner, startJobRunner } from "../jobs/runner.ts";
import type { Log } from "../log.ts";
import type { JobRecord, JobState } from "../stores/metadata/jobs.ts";
import type { DeliveryAnswer, OutboxQueue } from "../stores/metadata/outbox.ts";
import {
  type Addressee,
  DELIVERY_JOB,
  type DeliveryParts,
  type DeliveryPayload,
  deliver,
  deliveryBackoffMs,
  deliveryJob,
  environmentOf,
  hasValues,
  MAX_ATTEMPTS,
  scopeOf,
  type WebhookEvent,
} from "./delivery.ts";
import { type ToldValues, withoutValues } from "./told-values.ts";
import type { Webhook } from "./webhook.ts";

/** A page of deliveries. */
export interface DeliveryFilter {
  readonly environmentId: string;
  readonly webhookId?: string;
  readonly states?: readonly JobState[];
  /** Only those that were queued before this one. */
  readonly before?: string;
  readonly limit: number;
}

/** The outbox of all environments. */
export interface Outbox {
  /**
   * Queues events for a webhook, durably when this resolves; an event that was queued before is not
   * queued again. Returns how many found room, those that were queued before among them.
   */
  enqueue(to: Addressee, events: readonly WebhookEvent[]): Promise<number>;
  /** Deliveries, newest first. */
  list(filter: DeliveryFilter): Promise<JobRecord[]>;
  delivery(id: string): Promise<JobRecord | undefined>;
  /** What the receiver answered last to the delivery of an idempotency key; undefined = nothing. */
  answer(idempotencyKey: string): Promise<DeliveryAnswer | undefined>;
  /**
   * Queues an ended delivery once more, for as many attempts as a new one; `full` when too many
   * wait, undefined when it has not ended.
   */
  redeliver(id: string): Promise<JobRecord | "full" | undefined>;
  /**
   * Removes values from all deliveries, whatever their state, and counts them there as omitted;
   * returns their number. An attempt under way may still send them.
   */
  silence(values: SilencedValues): Promise<number>;
  /** Removes deliveries that ended long ago. */
  purge(): Promise<void>;
  /** Removes all deliveries of an environment. */
  forget(environmentId: string): Promise<void>;
  /** Begins to make the deliveries that wait, and those to come. */
  start(): Promise<void>;
  /** Makes no further deliveries; running ones continue. */
  drain(): Promise<void>;
  /** Ends the deliveries under way, which stay queued. */
  close(): Promise<void>;
}

/** What an outbox is made with. */
export interface OutboxOptions extends DeliveryParts {
  readonly jobs: OutboxQueue;
  /** The webhook of an id as it is now; undefined when it was deleted. */
  readonly find: (environmentId: string, webhookId: string) => Promise<Webhook | undefined>;
  readonly log: Log;
  /** Id of this node. */
  readonly node: string;
}

/** Deliveries of a webhook that may wait; further events are dropped. */
export const MAX_WAITING = 1_000;
/** Characters of an answer that are kept. */
const MAX_ANSWER = 1_024;
/** Deliveries under way on this node. They wait for others more than they compute. */
const SLOTS = 64;
/** Deliveries of a webhook that are kept after they ended, of each state. */
const KEPT = { succeeded: 500, failed: 1_000, cancelled: 100 } as const;
/** Milliseconds that any of them is kept after its end. */
const KEPT_MS = 30 * DAY_MS;
const TRIM_EVERY = 100;
const TRIM_BATCH = 1_000;
/** Deliveries that are looked through in one step for values to be removed. */
const SILENCED_AT_ONCE = 100;
/** Milliseconds for which the ends of attempts are collected, so that many share a flush. */
const SETTLE_MS = 100;

/** Makes an outbox in this thread. */
export function createOutbox(options: OutboxOptions): Outbox {
  const { jobs, find, clock, log, node } = options;
  const bus = createMemoryBus();
  const untrimmed = new Map<string, number>();
  let settling: Promise<void> | undefined;
  let runner: JobRunner | undefined;

  const settleTogether = (): Promise<void> => {
    settling ??= clock.sleep(SETTLE_MS).finally(() => {
      settling = undefined;
    });
    return settling;
  };

  const trim = async (scope: string, added: number): Promise<void> => {
    const count = (untrimmed.get(scope) ?? 0) + added;
    untrimmed.set(scope, count < TRIM_EVERY ? count : 0);
    if (count < TRIM_EVERY) return;
    for (const state of Object.keys(KEPT) as (keyof typeof KEPT)[])
      await jobs.trim({ kind: DELIVERY_JOB, scope, state }, KEPT[state], TRIM_BATCH);
  };

  const handler: JobHandler = {
    isQuiet: true,
    backoffMs: deliveryBackoffMs,
    async run({ scope, payload }, { signal }) {
      const delivery = payload as DeliveryPayload;
      const webhook = await find(environmentOf(scope), delivery.webhookId);
      if (!webhook) throw new JobFailed("the webhook was deleted");
      const { answer = "", error, isFinal, status } = await deliver(webhook, delivery, options, signal);
      signal.throwIfAborted();
      if (status > 0) {
        const body = hasValues(delivery) ? "" : answer.slice(0, MAX_ANSWER).toWellFormed();
        const kept = { status, body, isCut: body.length < answer.length, at: clock.now() };
        await jobs.keepAnswer(DELIVERY_JOB, delivery.idempotencyKey, kept);
      }
      await settleTogether();
      if (error !== "") throw isFinal ? new JobFailed(error) : new Error(error);
    },
    giveUp: () => Promise.resolve(),
  };

  return {
    async enqueue(to, events) {
      const scope = scopeOf(to);
      const stored = await jobs.enqueueWithin(
        { kind: DELIVERY_JOB, scope },
        MAX_WAITING,
        events.map((event) => deliveryJob(to, event, clock.now())),
      );
      if (stored > 0) bus.publish("jobs");
      await trim(scope, stored);
      return stored;
    },
    list: ({ environmentId, webhookId, ...filter }) =>
      jobs.list({
        ...filter,
        kind: DELIVERY_JOB,
        scope: webhookId === undefined ? environmentId : scopeOf({ id: webhookId, environmentId }),
      }),
    delivery: (id) => jobs.job(id),
    answer: async (idempotencyKey) => jobs.answer(DELIVERY_JOB, idempotencyKey),

    async redeliver(id) {
      const again = await jobs.retry(id, MAX_ATTEMPTS, MAX_WAITING);
      bus.publish("jobs");
      return again;
    },

    async silence(values) {
      const { branch, environmentId, until } = values;
      let removed = 0;
      const change = (payload: unknown): DeliveryPayload | undefined => {
        const delivery = payload as DeliveryPayload;
        // Of deliveries of older versions it is not known when the work on them began.
        if (!hasValues(delivery) || (delivery.since ?? 0) > until) return undefined;
        const told = delivery.payload as ToldValues;
        const rest = told.branch === branch ? withoutValues(told, (value) => isSilenced(values, value)) : told;
        removed += rest.omitted - told.omitted;
        return rest === told ? undefined : { ...delivery, payload: rest };
      };
      const page = (after: number) => jobs.amend({ kind: DELIVERY_JOB, scope: environmentId }, { after, limit: SILENCED_AT_ONCE }, change);
      for (let last = await page(0); last !== undefined; ) last = await page(last);
      return removed;
    },

    async purge() {
      while ((await jobs.purge(KEPT_MS, TRIM_BATCH)) === TRIM_BATCH);
    },

    async forget(environmentId) {
      while ((await jobs.forget({ kind: DELIVERY_JOB, scope: environmentId }, TRIM_BATCH)) === TRIM_BATCH);
    },

    async start() {
      runner ??= startJobRunner({ jobs, bus, clock, log, node: `${node}/webhooks`, slots: SLOTS, handlers: { [DELIVERY_JOB]: handler } });
    },
    async drain() {
      runner?.drain();
    },
    async close() {
      await runner?.stop();
    },
  };
}
