/**
 * The outbox in a thread of its own, so that no query waits for its writes, its signatures and its
 * calls. The thread begins with the first delivery: a server without webhooks has none.
 */

import { existsSync } from "node:fs";
import type { Clock } from "../../context/clock.ts";
import { errorText } from "../../domain/error-text.ts";
import type { KeyRing } from "../access/keys.ts";
import type { Log } from "../log.ts";
import type { OutboxPlace } from "../stores/metadata/outbox.ts";
import { Thread } from "../thread/rpc.ts";
import type { Outbox, OutboxOptions } from "./outbox.ts";
import type { OutboxCalls, OutboxEvents, OutboxSettings } from "./outbox-worker.ts";

/** What an outbox in a thread is made with. */
export interface OutboxThreadOptions extends Pick<OutboxOptions, "find" | "node" | "version" | "recordSpan"> {
  readonly place: OutboxPlace;
  /** The keys that open the secrets of webhooks. */
  readonly keys: KeyRing;
  /** Networks that the operator allows. */
  readonly allowed: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
}

/** Milliseconds after which a thread that ended by itself is started again. */
const RESTART_MS = 1_000;

/** Makes an outbox in a thread. Nothing is started yet. */
export function createOutboxThread(options: OutboxThreadOptions): Outbox {
  const { place, keys, allowed, node, version, find, recordSpan, clock, log } = options;
  const closing = new AbortController();
  let delivers = false;
  let hasBegun = false;

  const thread = new Thread<OutboxCalls, OutboxSettings, OutboxEvents>({
    entry: "webhooks/outbox-worker.ts",
    settings: { place, keys, allowed, node, version, debugs: log.enabled("debug") },
    holdsProcess: true,
    ended: (reason) => new Error(`the thread of the outbox ended: ${reason}`),
    onEnd: (error) => void restart(error),
    listeners: {
      log: (level, message, fields) => log[level](message, fields),
      find: (environmentId, webhookId) => void answer(environmentId, webhookId),
      span: (span) => recordSpan?.(span),
    },
  });

  const answer = async (environmentId: string, webhookId: string): Promise<void> => {
    try {
      await thread.call("found", [webhookId, await find(environmentId, webhookId)]);
    } catch (error) {
      if (!closing.signal.aborted) await thread.call("found", [webhookId, undefined, errorText(error)]).catch(() => undefined);
    }
  };
  /** Has the thread deliver, once there is something to deliver. */
  const begin = async (): Promise<void> => {
    if (!delivers || hasBegun || !existsSync(place.path)) return;
    hasBegun = true;
    try {
      await thread.call("start", []);
    } catch (error) {
      hasBegun = false;
      log.error("the deliveries to webhooks could not begin", { error: errorText(error) });
    }
  };
  const restart = async (error: Error): Promise<void> => {
    hasBegun = false;
    if (closing.signal.aborted) return;
    log.error("the deliveries to webhooks begin again", { error: error.message });
    await clock.sleep(RESTART_MS, closing.signal).then(begin, () => undefined);
  };

  return {
    async enqueue(to, events) {
      const stored = await thread.call("enqueue", [to, events]);
      await begin();
      return stored;
    },
    list: async (filter) => (existsSync(place.path) ? thread.call("list", [filter]) : []),
    delivery: async (id) => (existsSync(place.path) ? thread.call("delivery", [id]) : undefined),
    answer: async (idempotencyKey) => (existsSync(place.path) ? thread.call("answer", [idempotencyKey]) : undefined),
    redeliver: (id) => thread.call("redeliver", [id]),
    silence: async (values) => (existsSync(place.path) ? thread.call("silence", [values]) : 0),
    async purge() {
      await begin();
      if (existsSync(place.path)) await thread.call("purge", []);
    },
    async forget(environmentId) {
      if (existsSync(place.path)) await thread.call("forget", [environmentId]);
    },
    async start() {
      delivers = true;
      await begin();
    },
    async drain() {
      delivers = false;
      if (hasBegun) await thread.call("drain", []);
    },
    async close() {
      delivers = false;
      closing.abort();
      await thread.close();
    },
  };
}
