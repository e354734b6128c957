/** Worker thread of the outbox: its database, and the deliveries with all that they compute. */

import { systemClock } from "../../context/system-clock.ts";
import { errorText } from "../../domain/error-text.ts";
import type { KeyRing } from "../access/keys.ts";
import { createSealer } from "../access/sealing.ts";
import type { Log, LogFields, LogLevel } from "../log.ts";
import type { OutboxPlace } from "../stores/metadata/outbox.ts";
import { openOutbox } from "../stores/metadata/sqlite-outbox.ts";
import { isDamage, setAside } from "../stores/sqlite/open.ts";
import type { SpanRecord } from "../stores/telemetry/store.ts";
import { type Emit, serve } from "../thread/rpc.ts";
import { yieldToOthers } from "../thread/yielding.ts";
import { createOutbox, type Outbox } from "./outbox.ts";
import { createSend } from "./send.ts";
import type { Webhook } from "./webhook.ts";

/** Settings of the thread. */
export interface OutboxSettings {
  readonly place: OutboxPlace;
  /** The keys that open the secrets of webhooks. */
  readonly keys: KeyRing;
  /** Networks that the operator allows. */
  readonly allowed: readonly string[];
  readonly node: string;
  readonly version: string;
  /** Whether anybody reads the log at level debug. */
  readonly debugs: boolean;
}

/** What the thread tells its starter. */
export type OutboxEvents = {
  readonly log: readonly [level: LogLevel, message: string, fields: LogFields | undefined];
  /** It wants a webhook as it is now, and waits for a call of `found`. */
  readonly find: readonly [environmentId: string, webhookId: string];
  /** An attempt ended that is part of a trace. */
  readonly span: readonly [span: SpanRecord];
};

/** The outbox as the thread serves it. */
export interface OutboxCalls extends Outbox {
  /** Answers an event `find`; an error's text instead when the webhook could not be read. */
  found(webhookId: string, webhook: Webhook | undefined, error?: string): void;
}

serve<OutboxCalls, OutboxSettings, OutboxEvents>({
  make,
  close: (outbox) => outbox.close(),
  renewal: {
    isFor: isDamage,
    prepare: (damage, { place }, emit) =>
      emit("log", "error", "the outbox of webhooks was damaged: it was set aside, and begun anew", {
        reason: errorText(damage),
        kept: setAside(place.path),
      }),
  },
});

function make({ place, keys, allowed, node, version, debugs }: OutboxSettings, emit: Emit<OutboxEvents>): OutboxCalls {
  yieldToOthers();
  const jobs = openOutbox(place, () => systemClock.now());
  /** Webhooks that were asked for, by id: deliveries that begin together ask once. */
  const asked = new Map<string, PromiseWithResolvers<Webhook | undefined>>();
  const outbox = createOutbox({
    jobs,
    find(environmentId, webhookId) {
      const known = asked.get(webhookId);
      if (known) return known.promise;
      const asking = Promise.withResolvers<Webhook | undefined>();
      asked.set(webhookId, asking);
      emit("find", environmentId, webhookId);
      return asking.promise;
    },
    sealer: createSealer(keys),
    send: createSend({ clock: systemClock, allowed }),
    clock: systemClock,
    log: logTo(emit, debugs),
    recordSpan: (span) => emit("span", span),
    node,
    version,
  });
  return {
    ...outbox,
    found(webhookId, webhook, error) {
      const asking = asked.get(webhookId);
      asked.delete(webhookId);
      if (error === undefined) asking?.resolve(webhook);
      else asking?.reject(new Error(error));
    },
    async close() {
      await outbox.close();
      jobs.close();
    },
  };
}

function logTo(emit: Emit<OutboxEvents>, debugs: boolean): Log {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) => emit("log", level, message, fields);
  return {
    debug: debugs ? at("debug") : () => undefined,
    info: at("info"),
    warning: at("warning"),
    error: at("error"),
    enabled: (level) => debugs || level !== "debug",
  };
}
