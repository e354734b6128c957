/** A delivery: an event on its way to a webhook, as a job of the outbox, and one attempt at it. */

import { createHash } from "node:crypto";
import type { Clock } from "../../context/clock.ts";
import { SPAN_ATTRIBUTES as ATTRIBUTE } from "../../domain/span-attributes.ts";
import { formatTraceparent, newSpanId, parseTraceparent } from "../../domain/traceparent.ts";
import type { Sealer } from "../access/sealing.ts";
import { newId } from "../identifier.ts";
import type { NewJob } from "../stores/metadata/jobs.ts";
import type { SpanRecord } from "../stores/telemetry/store.ts";
import { ATTEMPT_MS, type Attempted, type Send } from "./send.ts";
import { signedHeaders } from "./signature.ts";
import { type Webhook, webhookSecrets } from "./webhook.ts";

/** The kind of the jobs that deliver. */
export const DELIVERY_JOB = "webhook-delivery";

/** An event as a webhook is told of it. */
export interface WebhookEvent {
  /** The event type. */
  readonly subscription: string;
  /** JSON text: it costs little to hand to a thread. */
  readonly payload: string;
  /** When it happened, epoch milliseconds. */
  readonly at: number;
  /**
   * When the work began that its values of features come of, epoch milliseconds; absent = it has
   * none of them.
   */
  readonly since?: number;
  /** The same for the same event, whoever tells of it. */
  readonly key: string;
  /** The query that it comes from, and the `traceparent` of that; absent = it has no trace. */
  readonly trace?: { readonly traceparent: string; readonly queryId: string };
}

/** The payload of a delivery's job. */
export interface DeliveryPayload extends Omit<WebhookEvent, "key" | "payload"> {
  /** JSON value. */
  readonly payload: unknown;
  readonly webhookId: string;
  readonly idempotencyKey: string;
}

/** What of a webhook is needed to queue deliveries to it. */
export interface Addressee {
  readonly id: string;
  /** Id of the environment. */
  readonly environmentId: string;
  readonly url: string;
}

/** Attempts after which a delivery is a dead letter. */
export const MAX_ATTEMPTS = 8;
/** Deliveries under way to one host, counted over all nodes. */
export const SLOTS_PER_HOST = 16;
const FIRST_BACKOFF_MS = 5_000;
const LONGEST_BACKOFF_MS = 4 * 3_600_000;
const ATTEMPT_TIMEOUT_MS = ATTEMPT_MS + 20_000;

/**
 * Milliseconds to wait after a number of attempts (from 1): exponential, half of it random, so that
 * eight attempts span some hours and receivers that failed together are not called together.
 */
export function deliveryBackoffMs(attempts: number, random: () => number = Math.random): number {
  const whole = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 4 ** (attempts - 1));
  return Math.round(whole * (0.5 + random() / 2));
}

/** The scope of the jobs that deliver to a webhook. */
export function scopeOf({ id, environmentId }: Pick<Addressee, "id" | "environmentId">): string {
  return `${environmentId}/${id}`;
}

/** Whether an event has values of features, which an answer may repeat. */
export function hasValues({ subscription }: Pick<DeliveryPayload, "subscription">): boolean {
  return subscription === "feature.computed";
}

/** The environment of a job that delivers. */
export function environmentOf(scope: string): string {
  return scope.slice(0, scope.indexOf("/"));
}

/** The job that delivers an event. */
export function deliveryJob(to: Addressee, { key, payload, ...event }: WebhookEvent, now: number): NewJob {
  const idempotencyKey = idempotencyKeyOf(to.id, key);
  const delivery: DeliveryPayload = { ...event, webhookId: to.id, payload: JSON.parse(payload), idempotencyKey };
  return {
    id: newId("job", now),
    kind: DELIVERY_JOB,
    scope: scopeOf(to),
    payload: delivery,
    group: { name: `${DELIVERY_JOB}:${new URL(to.url).host}`, slots: SLOTS_PER_HOST },
    idempotencyKey,
    maxAttempts: MAX_ATTEMPTS,
    attemptTimeoutMs: ATTEMPT_TIMEOUT_MS,
  };
}

/** Both webhooks of an address are told of an event, each under a key of its own. */
export function idempotencyKeyOf(webhookId: string, eventKey: string): string {
  return `msg_${createHash("sha256").update(`${webhookId}\n${eventKey}`).digest("hex").slice(0, 32)}`;
}

/** What an attempt needs. */
export interface DeliveryParts {
  readonly sealer: Sealer;
  readonly send: Send;
  readonly clock: Clock;
  /** Version of the program, for the user agent. */
  readonly version: string;
  /** Keeps the span of an attempt whose trace is kept; absent = none is. */
  readonly recordSpan?: ((span: SpanRecord) => void) | undefined;
}

/**
 * Makes one attempt. All attempts of a delivery have the same body and the same idempotency key.
 * Rejects with Failure failed_precondition when the webhook's secrets cannot be opened.
 */
export async function deliver(
  { id, scope: environmentId, content }: Webhook,
  { subscription, payload, at, idempotencyKey, trace }: Omit<DeliveryPayload, "webhookId">,
  { sealer, send, clock, version, recordSpan }: DeliveryParts,
  signal?: AbortSignal,
): Promise<Attempted> {
  const { secret, headers } = await webhookSecrets(sealer, environmentId).open(content);
  const body = deliveryBody(environmentId, { webhookId: id, subscription, payload, at, idempotencyKey });
  const given = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  const parent = parseTraceparent(trace?.traceparent ?? null);
  const span = parent && (parent.sampled ? { ...parent, spanId: newSpanId() } : parent);
  const own = {
    "content-type": "application/json",
    ...(!given.has("user-agent") && { "user-agent": `svc/${version}` }),
    ...(span && !given.has("traceparent") && { traceparent: formatTraceparent(span) }),
    ...signedHeaders({ id: idempotencyKey, at: clock.now(), body }, secret),
  };
  const startedAt = clock.now();
  const began = performance.now();
  const attempted = await send({ url: content.url, headers: { ...headers, ...own }, body }, signal);
  if (span?.sampled && trace)
    recordSpan?.({
      ...{ traceId: span.traceId, spanId: span.spanId, parentSpanId: parent?.spanId ?? "" },
      ...{ kind: "delivery", name: `deliver ${subscription}`, startedAt, durationMs: performance.now() - began },
      error: attempted.error,
      attributes: {
        [ATTRIBUTE.webhook]: id,
        [ATTRIBUTE.event]: subscription,
        [ATTRIBUTE.httpMethod]: "POST",
        [ATTRIBUTE.host]: new URL(content.url).hostname,
        ...(attempted.status > 0 && { [ATTRIBUTE.httpStatus]: String(attempted.status) }),
      },
      ...{ queryId: trace.queryId, environmentId, deploymentId: "" },
    });
  if (attempted.answer === undefined) return attempted;
  return { ...attempted, answer: withoutSecrets(attempted.answer, [...(secret === undefined ? [] : [secret]), ...Object.values(headers)]) };
}

/** The body of a delivery, the same on all attempts. */
export function deliveryBody(
  environmentId: string,
  { webhookId, subscription, payload, at, idempotencyKey }: Omit<DeliveryPayload, "trace" | "since">,
): string {
  return JSON.stringify({
    environment_id: environmentId,
    webhook_id: webhookId,
    subscription,
    payload,
    event_timestamp: new Date(at).toISOString(),
    idempotency_key: idempotencyKey,
  });
}

/** Shorter values of headers are no secrets. */
const LEAST_SECRET = 4;

/**
 * A receiver's answer without the secrets that a webhook has, each in the forms in which one is
 * repeated: as it is, in JSON, in an address, and without the word before it.
 */
function withoutSecrets(answer: string, secrets: readonly string[]): string {
  const forms = secrets.flatMap((secret) => {
    const bare = secret.replace(/^(whsec_|[\w-]+ )/, "");
    return [secret, bare].flatMap((one) => [one, JSON.stringify(one).slice(1, -1), encodeURIComponent(one.toWellFormed())]);
  });
  return forms
    .filter(({ length }) => length >= LEAST_SECRET)
    .sort((one, other) => other.length - one.length)
    .reduce((text, secret) => text.replaceAll(secret, "***"), answer);
}
