/** The webhooks of environments: who is told of what, and the deliveries to them. */

import { allows } from "../../domain/permissions.ts";
import type { Resealing } from "../access/resealing.ts";
import type { Sealer } from "../access/sealing.ts";
import { type CollectionParts, createCollection } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import { createDeliveries, type Deliveries } from "./deliveries.ts";
import { deliver, idempotencyKeyOf } from "./delivery.ts";
import { createEvents, type Events, type Silences } from "./events.ts";
import type { Outbox, OutboxOptions } from "./outbox.ts";
import { type Attempted, createSend, type Send } from "./send.ts";
import { readSubscriptions, subscribesTo } from "./subscription.ts";
import { checkUrl, WEBHOOKS, type Webhook, type WebhookContent, webhookSecrets } from "./webhook.ts";

/** The fields of a webhook as its author gives them; absent ones of a change stay as they are. */
export interface WebhookFields {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  readonly subscriptions?: readonly string[] | undefined;
  /** Empty = none. */
  readonly secret?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** A webhook that was created or changed. */
export interface ChangedWebhook {
  readonly webhook: Webhook;
  /** What its author should know. */
  readonly warnings: readonly string[];
}

/** Who creates or changes a webhook. */
export interface Author {
  readonly permissions: readonly string[];
}

/** The capability. */
export interface Webhooks extends Resealing {
  /** Webhooks of an environment, by name. */
  list(environmentId: string): Promise<Webhook[]>;
  /** The webhook of an id or name. Throws Failure not_found. */
  get(environmentId: string, idOrName: string): Promise<Webhook>;
  /** Throws Failure. */
  create(environmentId: string, author: Author, fields: WebhookFields): Promise<ChangedWebhook>;
  /** Changes what is given. Throws Failure. */
  update(environmentId: string, author: Author, idOrName: string, fields: WebhookFields, etag?: string): Promise<ChangedWebhook>;
  /** Throws Failure not_found. */
  delete(environmentId: string, idOrName: string): Promise<Webhook>;
  /** Delivers an event `webhook.test` now. Throws Failure not_found. */
  test(environmentId: string, idOrName: string): Promise<{ readonly webhook: Webhook; readonly attempted: Attempted; readonly ms: number }>;
  readonly deliveries: Deliveries;
  readonly events: Events;
  /** Begins to make the deliveries that wait, and those to come. */
  startDelivering(): Promise<void>;
  /** Makes no further deliveries; running ones continue. */
  drain(): Promise<void>;
  /** Queues the events in memory, ends the deliveries under way, and stops. */
  close(): Promise<void>;
}

/** The services of the capability. */
export interface WebhooksOptions extends CollectionParts {
  /** Makes the outbox, which asks for webhooks by `find`. */
  readonly outbox: (find: OutboxOptions["find"]) => Outbox;
  readonly sealer: Sealer;
  /** The values that nobody may be told of any more. */
  readonly deleted: Silences;
  readonly version: string;
  /** Networks that the operator allows beside public addresses. */
  readonly allowed: readonly string[];
  /** Makes an attempt; default: over the network. */
  readonly send?: Send;
}

/** Makes the capability. */
export function createWebhooks(options: WebhooksOptions): Webhooks {
  const { sealer, deleted, clock, log, version, allowed } = options;
  const webhooks = createCollection<WebhookContent>(options, WEBHOOKS);
  const send = options.send ?? createSend({ clock, allowed });
  const outbox = options.outbox(webhooks.find);
  const deliveries = createDeliveries({ outbox, webhooks, log });
  const events = createEvents({ webhooks, deliveries, deleted, clock, log });

  return {
    deliveries,
    events,
    list: (environmentId) => webhooks.list(environmentId),
    get: (environmentId, idOrName) => webhooks.get(environmentId, idOrName),

    async create(environmentId, author, { name = "", url = "", subscriptions = [], secret = "", headers = {} }) {
      const sealedAs = crypto.randomUUID();
      const told = readSubscriptions(subscriptions);
      mayBeTold(author, told.subscriptions);
      const seal = webhookSecrets(sealer, environmentId);
      const sealed = await seal.sealSecret(sealedAs, secret);
      const webhook = await webhooks.create(environmentId, name, {
        url: checkUrl(url, allowed),
        subscriptions: told.subscriptions,
        sealedAs,
        headers: await seal.sealHeaders(sealedAs, headers),
        ...(sealed === undefined ? {} : { secret: sealed }),
      });
      return { webhook, warnings: told.warnings };
    },

    async update(environmentId, author, idOrName, { name, url, subscriptions, secret, headers }, etag) {
      const told = subscriptions && readSubscriptions(subscriptions);
      const checked = url === undefined ? undefined : checkUrl(url, allowed);
      const seal = webhookSecrets(sealer, environmentId);
      const webhook = await webhooks.update(
        environmentId,
        idOrName,
        async ({ name: known, content }) => {
          const { secret: before, ...rest } = content;
          if (checked !== undefined && headers === undefined) keepsHeaders(known, content, checked);
          const after = secret === undefined ? before : await seal.sealSecret(content.sealedAs, secret);
          if (told || checked !== undefined) mayBeTold(author, told?.subscriptions ?? content.subscriptions);
          return {
            ...(name === undefined ? {} : { name }),
            content: {
              ...rest,
              ...(checked === undefined ? {} : { url: checked }),
              ...(told ? { subscriptions: told.subscriptions } : {}),
              ...(headers ? { headers: await seal.sealHeaders(content.sealedAs, headers) } : {}),
              ...(after === undefined ? {} : { secret: after }),
            },
          };
        },
        etag,
      );
      return { webhook, warnings: told?.warnings ?? [] };
    },

    delete: (environmentId, idOrName) => webhooks.delete(environmentId, idOrName),

    async reseal(signal) {
      let count = 0;
      for (const { id, scope, content } of await webhooks.list()) {
        signal.throwIfAborted();
        const seal = webhookSecrets(sealer, scope);
        if (seal.isCurrent(content)) continue;
        try {
          await webhooks.update(scope, id, async (webhook) => ({ content: await seal.reseal(webhook.content) }));
          count++;
        } catch (error) {
          // What cannot be opened, or is gone meanwhile, is passed over.
          if (!(error instanceof Failure)) throw error;
        }
      }
      return count;
    },

    async test(environmentId, idOrName) {
      const webhook = await webhooks.get(environmentId, idOrName);
      const began = performance.now();
      const idempotencyKey = idempotencyKeyOf(webhook.id, `webhook.test/${crypto.randomUUID()}`);
      const payload = { message: `This is a test of the webhook '${webhook.name}'.` };
      const event = { subscription: "webhook.test", payload, at: clock.now(), idempotencyKey };
      const attempted = await deliver(webhook, event, { sealer, send, clock, version });
      return { webhook, attempted, ms: performance.now() - began };
    },

    startDelivering: () => outbox.start(),
    drain: () => outbox.drain(),
    async close() {
      await events.close();
      await outbox.close();
      await webhooks.close();
    },
  };
}

/**
 * Throws Failure failed_precondition when headers would be sent to another origin than the one that
 * they were given for: whoever may change webhooks may not see their secrets.
 */
function keepsHeaders(name: string, { url, headers }: WebhookContent, next: string): void {
  if (Object.keys(headers).length === 0 || new URL(url).origin === new URL(next).origin) return;
  throw new Failure("failed_precondition", `The headers of the webhook '${name}' were given for ${new URL(url).origin}.`, {
    hint: "Give them again together with the new URL, or `--headers '{}'` for none.",
  });
}

/**
 * Throws Failure permission_denied when events have values that their receiver's author may not
 * query.
 */
function mayBeTold({ permissions }: Author, subscriptions: readonly string[]): void {
  if (!subscribesTo(subscriptions, "feature.computed") || allows(permissions, "query.online")) return;
  throw new Failure("permission_denied", "Events feature.computed have values of features, and your client may not query them.", {
    hint: "Ask for the permission query.online.",
  });
}
