/** WebhookService: webhooks of an environment, and the deliveries to them. */

import { create } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import {
  type WebhookDelivery,
  WebhookDeliverySchema,
  WebhookDeliveryState,
  type Webhook as WebhookMessage,
  WebhookSchema,
  WebhookService,
} from "../../../../gen/svc/v1/webhook_pb.ts";
import { msToDuration, msToTimestamp } from "../../../domain/proto-time.ts";
import { resolveScope } from "../../access/scope.ts";
import { etagOf } from "../../documents/collection.ts";
import { Failure } from "../../failure.ts";
import type { JobRecord, JobState } from "../../stores/metadata/jobs.ts";
import type { DeliveryPayload } from "../../webhooks/delivery.ts";
import type { Webhook } from "../../webhooks/webhook.ts";
import { callerOf } from "../interceptors.ts";
import type { Platform } from "../platform.ts";
import { pageToken, readPageToken } from "./page-token.ts";

const DEFAULT_PAGE = 100;
const MAX_PAGE = 1_000;
const MASKED = "***";

const STATES: Readonly<Record<JobState, WebhookDeliveryState>> = {
  queued: WebhookDeliveryState.PENDING,
  running: WebhookDeliveryState.DELIVERING,
  succeeded: WebhookDeliveryState.DELIVERED,
  failed: WebhookDeliveryState.DEAD,
  cancelled: WebhookDeliveryState.DEAD,
};

/** Adds the service to a router. */
export function register(router: ConnectRouter, platform: Platform): void {
  const { environments, keys } = platform;
  const environmentOf = async (context: HandlerContext): Promise<string> =>
    (await resolveScope(environments, callerOf(context), context.requestHeader)).environment.id;

  router.service(WebhookService, {
    async listWebhooks(_request, context) {
      const webhooks = await platform.webhooks();
      return { webhooks: (await webhooks.list(await environmentOf(context))).map(webhookMessage) };
    },

    async createWebhook({ name, url, subscriptions, secret, headers }, context) {
      const webhooks = await platform.webhooks();
      const fields = { name, url, subscriptions, secret, headers: headers?.values };
      const { webhook, warnings } = await webhooks.create(await environmentOf(context), callerOf(context), fields);
      return { webhook: webhookMessage(webhook), warnings: [...warnings] };
    },

    async updateWebhook({ webhook: wanted, name, url, subscriptions, secret, headers, etag }, context) {
      const webhooks = await platform.webhooks();
      const fields = { name, url, subscriptions: subscriptions.length > 0 ? subscriptions : undefined, secret, headers: headers?.values };
      if (Object.values(fields).every((field) => field === undefined))
        throw new Failure("invalid_argument", "Nothing was given that the webhook should have instead.");
      const { webhook, warnings } = await webhooks.update(
        await environmentOf(context),
        callerOf(context),
        wanted,
        fields,
        etag === "" ? undefined : etag,
      );
      return { webhook: webhookMessage(webhook), warnings: [...warnings] };
    },

    async deleteWebhook({ webhook }, context) {
      const webhooks = await platform.webhooks();
      return { webhook: webhookMessage(await webhooks.delete(await environmentOf(context), webhook)) };
    },

    async testWebhook({ webhook: wanted }, context) {
      const webhooks = await platform.webhooks();
      const { webhook, attempted, ms } = await webhooks.test(await environmentOf(context), wanted);
      return {
        webhook: webhookMessage(webhook),
        delivered: attempted.error === "",
        statusCode: attempted.status,
        error: attempted.error,
        duration: msToDuration(ms),
      };
    },

    async listWebhookDeliveries({ webhook: wanted, state, pageSize, pageToken: token }, context) {
      const webhooks = await platform.webhooks();
      const environmentId = await environmentOf(context);
      const only = wanted === "" ? undefined : (await webhooks.get(environmentId, wanted)).id;
      const limit = Math.min(pageSize > 0 ? pageSize : DEFAULT_PAGE, MAX_PAGE);
      const filter = `deliveries/${environmentId}/${only ?? ""}/${state}`;
      const states = (Object.keys(STATES) as JobState[]).filter(
        (one) => state === WebhookDeliveryState.UNSPECIFIED || STATES[one] === state,
      );
      const jobs = await webhooks.deliveries.list({
        environmentId,
        states,
        limit,
        ...(only === undefined ? {} : { webhookId: only }),
        ...(token === "" ? {} : { before: readPageToken(keys.objects, filter, token) }),
      });
      const names = new Map((await webhooks.list(environmentId)).map(({ id, name }) => [id, name]));
      const last = jobs.at(-1);
      return {
        deliveries: jobs.map((job) => deliveryMessage(job, names)),
        nextPageToken: last && jobs.length === limit ? pageToken(keys.objects, filter, last.id) : "",
        dropped: BigInt(webhooks.deliveries.dropped(environmentId)),
      };
    },

    async getWebhookDelivery({ id }, context) {
      const webhooks = await platform.webhooks();
      const environmentId = await environmentOf(context);
      const { answer, body, job } = await webhooks.deliveries.get(environmentId, callerOf(context), id);
      const names = new Map((await webhooks.list(environmentId)).map((webhook) => [webhook.id, webhook.name]));
      return {
        ...{ delivery: deliveryMessage(job, names), body },
        ...(answer && {
          answer: { statusCode: answer.status, body: answer.body, cut: answer.isCut, answeredAt: msToTimestamp(answer.at) },
        }),
      };
    },

    async redeliverWebhookDelivery({ id }, context) {
      const webhooks = await platform.webhooks();
      const environmentId = await environmentOf(context);
      const job = await webhooks.deliveries.redeliver(environmentId, id);
      const names = new Map((await webhooks.list(environmentId)).map((webhook) => [webhook.id, webhook.name]));
      return { delivery: deliveryMessage(job, names) };
    },
  });
}

function webhookMessage(webhook: Webhook): WebhookMessage {
  const { id, name, content, createdAt, updatedAt } = webhook;
  return create(WebhookSchema, {
    id,
    name,
    url: content.url,
    subscriptions: [...content.subscriptions],
    signed: content.secret !== undefined,
    headers: Object.fromEntries(Object.keys(content.headers).map((header) => [header, MASKED])),
    createdAt: msToTimestamp(createdAt),
    updatedAt: msToTimestamp(updatedAt),
    etag: etagOf(webhook),
  });
}

function deliveryMessage(job: JobRecord, names: ReadonlyMap<string, string>): WebhookDelivery {
  const { webhookId, subscription, payload, at, idempotencyKey } = job.payload as DeliveryPayload;
  return create(WebhookDeliverySchema, {
    id: job.id,
    webhookId,
    webhookName: names.get(webhookId) ?? "",
    subscription,
    state: STATES[job.state],
    attempts: job.attempts,
    maxAttempts: job.maxAttempts,
    error: job.error,
    idempotencyKey,
    eventTime: msToTimestamp(at),
    ...(job.state === "queued" ? { nextAttemptAt: msToTimestamp(Math.max(job.runAt, job.updatedAt)) } : {}),
    updatedAt: msToTimestamp(job.updatedAt),
    monitor: monitorOf(subscription, payload),
  });
}

/** The monitor that an event is about, as its payload names it. */
function monitorOf(subscription: string, payload: unknown): string {
  if (!subscription.startsWith("monitor.") || typeof payload !== "object" || payload === null || !("monitor" in payload)) return "";
  return typeof payload.monitor === "string" ? payload.monitor : "";
}
