/**
 * What is recorded of the server's components: specs that were applied, and which components are
 * suspended. Each node holds it in memory and follows the others, so that asking whether a
 * component is suspended costs a query nothing.
 */

import { parseDuration } from "../../domain/duration.ts";
import { isJsonObject, type JsonObject } from "../../domain/json-value.ts";
import { quantityValue } from "../../domain/quantity.ts";
import { type CollectionParts, createCollection, etagOf } from "../documents/collection.ts";
import { Failure } from "../failure.ts";
import { followStore } from "../nodes/follow.ts";
import type { LogLimits } from "../stores/logs/store.ts";
import type { MetricLimits } from "../stores/metrics/store.ts";
import type { TelemetryLimits } from "../stores/telemetry/store.ts";
import type { TopicLimits } from "../stores/topics/store.ts";

/** What is recorded of a component. */
export interface ComponentRecord {
  /** What was applied beyond what the component has of itself. */
  readonly spec: JsonObject;
  readonly suspended: boolean;
}

/** A component that can be suspended. */
export type Suspendable = "telemetry" | "gateway" | "persistence";

/** The records of components. */
export interface Components {
  /** Whether a component is suspended, as this node knows it. */
  isSuspended(name: Suspendable): boolean;
  /** What is recorded of a component, as this node knows it. */
  recorded(name: string): ComponentRecord;
  /**
   * Calls `listener` with what is recorded of a component: now, and whenever this node learns of a
   * change.
   */
  watch(name: string, listener: (record: ComponentRecord) => void): void;
  /** What is recorded of a component in the store, with its etag. */
  read(name: string): Promise<ComponentRecord & { readonly etag: string }>;
  /**
   * Changes what is recorded of a component. When it resolves, this node acts on it. Rejects with
   * Failure aborted when an etag is given and is not that of the record.
   * @returns the id of the record and what it was before
   */
  change(
    name: string,
    change: (before: ComponentRecord) => ComponentRecord,
    etag?: string,
  ): Promise<{ readonly id: string; readonly before: ComponentRecord }>;
  /** Stops following other nodes. */
  close(): Promise<void>;
}

/**
 * The bounds that the record of the metrics sets for the telemetry store; undefined = its default.
 */
export function telemetryLimits(record: ComponentRecord): TelemetryLimits {
  const { maxBytes: maxSpanBytes, maxAgeMs: maxSpanAgeMs } = boundsOf(record, "trace_storage", "trace_retention");
  return { ...boundsOf(record, "storage", "retention"), maxSpanBytes, maxSpanAgeMs };
}

/** The same for the store of metrics. */
export function metricLimits(record: ComponentRecord): MetricLimits {
  return boundsOf(record, "metric_storage", "metric_retention");
}

/** The same for the log store. */
export function logLimits(record: ComponentRecord): LogLimits {
  return boundsOf(record, "log_storage", "log_retention");
}

/** What is configured of a topic of the server, in every environment. */
export interface ConfiguredTopic {
  readonly name: string;
  /** Partitions that it has at least. */
  readonly partitions: number;
  /** Age above which its messages are removed; undefined = the default. */
  readonly retentionMs: number | undefined;
}

/** The topics that the record of `kafka-topics` names. */
export function configuredTopics({ spec: { topics } }: ComponentRecord): readonly ConfiguredTopic[] {
  const number = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
  return (Array.isArray(topics) ? topics : []).filter(isJsonObject).map(({ name, partitions, retention_ms }) => ({
    name: String(name),
    partitions: number(partitions) ?? 1,
    retentionMs: number(retention_ms),
  }));
}

/** What is configured of one topic; undefined = nothing. */
export function configuredTopic(record: ComponentRecord, topic: string): ConfiguredTopic | undefined {
  return configuredTopics(record).find(({ name }) => name === topic);
}

/** The bounds that the record sets for the store of topics. */
export function topicLimits(record: ComponentRecord): TopicLimits {
  const set = configuredTopics(record).flatMap(({ name, retentionMs }) =>
    retentionMs === undefined ? [] : [[name, retentionMs] as const],
  );
  return { retentionMs: Object.fromEntries(set) };
}

function boundsOf({ spec }: ComponentRecord, size: string, age: string): MetricLimits {
  const [bytes, duration] = [spec[size], spec[age]];
  return {
    maxBytes: typeof bytes === "string" ? quantityValue(bytes) : undefined,
    maxAgeMs: typeof duration === "string" ? parseDuration(duration) : undefined,
  };
}

const KIND = "component";
/** Components belong to no team or environment. */
const SCOPE = "server";
const NOTHING: ComponentRecord = { spec: {}, suspended: false };
const NO_RECORD = '"0"';

/** Reads the records, and follows them from then on. Rejects when they cannot be read. */
export async function createComponents(parts: CollectionParts): Promise<Components> {
  const { documents, bus, clock, log } = parts;
  const collection = createCollection<ComponentRecord>(parts, {
    kind: KIND,
    noun: "component",
    idPrefix: "cmp",
    listedBy: "svc infra --help",
  });
  let records = new Map<string, ComponentRecord>();
  const suspended = new Set<string>();
  const watchers: { readonly name: string; readonly listener: (record: ComponentRecord) => void }[] = [];
  const recorded = (name: string): ComponentRecord => records.get(name) ?? NOTHING;
  const following = followStore({
    bus,
    topic: "documents",
    clock,
    log,
    async read(ids) {
      if (ids && !ids.has(`${KIND}/${SCOPE}`)) return;
      const before = records;
      records = new Map((await documents.list(KIND, SCOPE)).map(({ name, content }) => [name, content as ComponentRecord]));
      suspended.clear();
      for (const [name, record] of records) if (record.suspended) suspended.add(name);
      for (const { name, listener } of watchers)
        if (JSON.stringify(before.get(name)) !== JSON.stringify(records.get(name))) listener(recorded(name));
    },
  });
  try {
    await following.reread();
  } catch (error) {
    await following.stop();
    throw error;
  }

  const stale = (name: string): Failure =>
    new Failure("aborted", `Somebody else changed the component '${name}' meanwhile; nothing was changed.`, {
      hint: "Look at its spec again, and apply anew.",
    });

  return {
    isSuspended: (name) => suspended.has(name),
    recorded,
    watch(name, listener) {
      watchers.push({ name, listener });
      listener(recorded(name));
    },
    async read(name) {
      const document = await collection.find(SCOPE, name);
      return document ? { ...document.content, etag: etagOf(document) } : { ...NOTHING, etag: NO_RECORD };
    },
    async change(name, change, etag) {
      let before = NOTHING;
      const made = (content: ComponentRecord): ComponentRecord => {
        before = content;
        return change(content);
      };
      const store = async (): Promise<string> => {
        const known = await collection.find(SCOPE, name);
        if (known) return (await collection.update(SCOPE, known.id, ({ content }) => ({ content: made(content) }), etag)).id;
        if (etag !== undefined && etag !== NO_RECORD) throw stale(name);
        try {
          return (await collection.create(SCOPE, name, made(NOTHING))).id;
        } catch (error) {
          if (!(error instanceof Failure) || error.kind !== "already_exists") throw error;
          if (etag !== undefined) throw stale(name);
          return store();
        }
      };
      const id = await store();
      await following.reread();
      return { id, before };
    },
    async close() {
      await following.stop();
      await collection.close();
    },
  };
}
