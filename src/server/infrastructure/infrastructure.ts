/**
 * The components of the server as they are: their specs merged from what runs and what was
 * recorded, changes of those, and counters.
 */

import { basename } from "node:path";
import { didYouMean } from "../../domain/closest.ts";
import { formatDuration, parseDuration } from "../../domain/duration.ts";
import { jsonChanges } from "../../domain/json-diff.ts";
import { equalsJson, isJsonObject, type Json, type JsonObject } from "../../domain/json-value.ts";
import { SERVER_SCOPE } from "../../domain/metrics/metric.ts";
import type { MetricFamily } from "../../domain/openmetrics.ts";
import { bytesQuantity, quantityValue } from "../../domain/quantity.ts";
import { samplingOf } from "../../domain/span-sampling.ts";
import { formatTimestamp } from "../../domain/timestamp.ts";
import { Failure } from "../failure.ts";
import type { HttpMeter } from "../metrics/http-meter.ts";
import type { MetricRecording } from "../metrics/recorder.ts";
import type { RemovedHistory } from "../nodes/history-retention.ts";
import type { OtlpExporter } from "../otlp/exporter.ts";
import type { LogStore } from "../stores/logs/store.ts";
import type { MetricStore } from "../stores/metrics/store.ts";
import type { OnlineStore } from "../stores/online/store.ts";
import type { SchemaMove, TelemetryStore } from "../stores/telemetry/store.ts";
import { MAX_PARTITIONS, type TopicStore } from "../stores/topics/store.ts";
import type { ValueSinks } from "../writes/value-sinks.ts";
import type { ComponentRecord, Components, Suspendable } from "./components.ts";
import { beyond, mergeSpec } from "./spec-merge.ts";
import { readSpec, type SpecKind } from "./spec-shape.ts";
import { counter, gauge, histogram } from "./stats.ts";
import { measureVolumes, type Volume } from "./volumes.ts";

/** A component. */
export type ComponentName = SpecKind | "volumes";

/** A namespace: an environment of the caller. */
export interface Namespace {
  readonly id: string;
  readonly name: string;
}

/** A change of a spec. */
export interface SpecChange {
  readonly path: readonly (string | number)[];
  readonly before: Json | undefined;
  readonly after: Json | undefined;
  /** Whether it has a meaning on this server. */
  readonly applied: boolean;
}

/** Where a store is, without credentials. */
export interface StorePlace {
  readonly driver: string;
  readonly address: string;
}

/** A bound listener. */
export interface ListenerFacts {
  readonly address: string;
  readonly port: number;
  readonly encrypted: boolean;
  readonly kind: "http" | "grpc" | "gateway";
}

/** The components of a server. */
export interface Infrastructure {
  /**
   * The spec of a component with what is measured in its key `status`, and its etag. Rejects with
   * Failure not_found for a namespace that is none of `namespaces`.
   */
  describe(
    name: ComponentName,
    namespace: string,
    namespaces: readonly Namespace[],
  ): Promise<{ readonly spec: JsonObject; readonly etag: string }>;
  /** The changes that `apply` would make. Rejects with Failure invalid_argument, not_found. */
  compare(
    name: ComponentName,
    spec: string,
    namespaces: readonly Namespace[],
  ): Promise<{ readonly changes: SpecChange[]; readonly etag: string }>;
  /** Merges a spec into that of a component. Rejects as `compare`, or with Failure aborted. */
  apply(name: ComponentName, spec: string, namespaces: readonly Namespace[], etag: string): Promise<SpecChange[]>;
  /** Brings the telemetry store to the newest schema. */
  migrate(): Promise<SchemaMove>;
  /** Counters. Rejects with Failure not_found for a component without. */
  stats(name: ComponentName): Promise<MetricFamily[]>;
  /** Suspends or resumes a component; `changed` says whether it was otherwise before. */
  setSuspended(name: ComponentName, suspended: boolean): Promise<{ readonly id: string; readonly changed: boolean }>;
}

/** What the capability needs. */
export interface InfrastructureParts {
  readonly components: Components;
  /** Requests that are being answered. */
  readonly inFlight: HttpMeter["inFlight"];
  /** What was recorded on this node. */
  readonly recorded: Pick<MetricRecording, "series" | "sinceStart">;
  readonly version: string;
  readonly dataDir: string;
  readonly stores: Readonly<Record<"online" | "offline" | "telemetry" | "metrics" | "logs" | "topics", StorePlace>>;
  readonly listeners: readonly ListenerFacts[];
  /** Bytes of requests' bodies that are held. */
  readonly bodyBytes: () => number;
  readonly online: () => Promise<OnlineStore>;
  readonly sinks: () => Promise<ValueSinks>;
  readonly telemetry: () => Promise<TelemetryStore>;
  readonly metrics: () => Promise<MetricStore>;
  readonly logs: () => Promise<LogStore>;
  readonly topics: () => Promise<Pick<TopicStore, "topics" | "figures">>;
  /** What was removed of the history because of its age or size, on this node. */
  readonly removedHistory: () => readonly RemovedHistory[];
  /** The signals that are exported by OTLP, by name. */
  readonly exported: () => ReturnType<OtlpExporter["standing"]>;
  /** Whether clients on this machine get `/metrics` without a token. */
  readonly metricsOpen: boolean;
}

const SUSPENDABLE: readonly string[] = ["telemetry", "gateway", "persistence"] satisfies Suspendable[];
/** Least bytes of telemetry and of metrics: less could not hold a batch of records. */
const LEAST_STORAGE = 8 * 1024 * 1024;
/** Least age of telemetry and of metrics that are removed. */
const LEAST_RETENTION_MS = 3_600_000;
/** Keys of the metrics' spec that this server acts on. */
const APPLIED_METRICS: readonly string[] = [
  ...["retention", "storage", "log_retention", "log_storage", "trace_retention", "trace_storage", "metric_retention", "metric_storage"],
  ...["trace_sample_rate", "trace_sample_limit"],
];
const TOPIC_NAME = /^[A-Za-z0-9._-]{1,249}$/;
/** Least and greatest age of messages that are removed. */
const LEAST_TOPIC_RETENTION_MS = 1_000;
const MOST_RETENTION_MS = 3_155_760_000_000;
/** Traces that can be kept in a second although nobody asks for them. */
const MOST_SAMPLES = 1_000;
/** Namespace of the whole server, as events of the cluster name it. */
const SERVER_NAMESPACE = "server";

/** A component's spec from what runs, and what is measured. */
interface Running {
  readonly spec: JsonObject;
  readonly status: JsonObject;
}

/** Makes the capability. */
export function createInfrastructure(parts: InfrastructureParts): Infrastructure {
  const { components, inFlight, recorded, version, dataDir, stores, listeners } = parts;
  const stateOf = (name: Suspendable): string => (components.isSuspended(name) ? "suspended" : "running");

  const running: Readonly<Record<SpecKind, () => Promise<Running>>> = {
    async metrics() {
      const [telemetry, logs] = await Promise.all([parts.telemetry(), parts.logs()]);
      const [lines, series] = await Promise.all([logs.figures(), (await parts.metrics()).figures()]);
      const figures = await telemetry.figures();
      const { bytes, defaultMaxAgeMs, defaultMaxBytes, maxAgeMs, maxBytes, pendingRecords, removedQueries, schemaVersion } = figures;
      const { rate, perSecond } = samplingOf({});
      const { driver, address } = stores.telemetry;
      return {
        spec: {
          database_name: basename(address),
          database_replicas: 1,
          retention: formatDuration(defaultMaxAgeMs),
          storage: bytesQuantity(defaultMaxBytes),
          log_retention: formatDuration(lines.defaultMaxAgeMs),
          log_storage: bytesQuantity(lines.defaultMaxBytes),
          trace_retention: formatDuration(figures.defaultMaxSpanAgeMs),
          trace_storage: bytesQuantity(figures.defaultMaxSpanBytes),
          metric_retention: formatDuration(series.defaultMaxAgeMs),
          metric_storage: bytesQuantity(series.defaultMaxBytes),
          trace_sample_rate: rate,
          trace_sample_limit: perSecond,
        },
        status: {
          state: "running",
          driver,
          address,
          version,
          schema_version: schemaVersion,
          size_bytes: bytes,
          max_size_bytes: maxBytes,
          max_age: formatDuration(maxAgeMs),
          removed_queries: removedQueries,
          pending_records: pendingRecords,
          dropped_records: telemetry.dropped(),
          traces: {
            size_bytes: figures.spanBytes,
            max_size_bytes: figures.maxSpanBytes,
            max_age: formatDuration(figures.maxSpanAgeMs),
          },
          metrics_store: await metricFigures(),
          logs: {
            ...stores.logs,
            schema_version: lines.schemaVersion,
            size_bytes: lines.bytes,
            max_size_bytes: lines.maxBytes,
            max_age: formatDuration(lines.maxAgeMs),
            removed_records: lines.removedRecords,
            pending_records: lines.pendingRecords,
            dropped_records: logs.dropped(),
          },
        },
      };
    },
    async persistence() {
      const writers = await writerFigures();
      return {
        spec: {
          common_persistence_specs: { bus_backend: "MEMORY" },
          writers: writers.map(({ name }) => ({ name, default_replica_count: 1 })),
        },
        status: {
          state: stateOf("persistence"),
          version,
          writers: writers.map(({ name, store, pending, dropped }) => ({
            name,
            ...store,
            pending_values: pending,
            dropped_values: dropped,
          })),
          removed_history: parts.removedHistory().map(({ environmentId, observations, observedBefore }) => ({
            environment_id: environmentId,
            observations,
            observed_before: formatTimestamp(observedBefore),
          })),
        },
      };
    },
    gateway: async () => ({
      spec: {
        gateway_name: "svc",
        listeners: listeners.map(({ encrypted, kind, port }) => {
          const name = encrypted ? `${kind}s` : kind;
          return { name, port, protocol: name.toUpperCase() };
        }),
      },
      status: {
        state: stateOf("gateway"),
        driver: "embedded",
        version,
        addresses: listeners.map(({ address }) => address),
        requests_in_flight: inFlight(),
      },
    }),
    async "kafka-topics"() {
      const store = await parts.topics();
      const [{ bytes, removedMessages, schemaVersion }, topics] = await Promise.all([store.figures(), store.topics()]);
      return {
        spec: { topics: [] },
        status: {
          ...{ state: "running", ...stores.topics, version, schema_version: schemaVersion },
          ...{ size_bytes: bytes, topics: topics.length, removed_messages: removedMessages },
        },
      };
    },
    telemetry: async () => ({
      spec: {},
      status: {
        ...{ state: stateOf("telemetry"), ...stores.telemetry, version },
        prometheus: { path: "/metrics", open_to_this_machine: parts.metricsOpen },
        otlp: Object.entries(parts.exported()).map(([signal, { collector, dropped, encoding, problem, takenAt }]) => ({
          ...{ signal, collector, encoding, dropped_records: dropped, problem },
          ...(takenAt !== undefined && { taken_at: formatTimestamp(takenAt) }),
        })),
      },
    }),
  };

  const metricFigures = async (): Promise<JsonObject> => {
    const { bytes, maxAgeMs, maxBytes, schemaVersion, ...held } = await (await parts.metrics()).figures();
    return {
      ...stores.metrics,
      schema_version: schemaVersion,
      size_bytes: bytes,
      max_size_bytes: maxBytes,
      max_age: formatDuration(maxAgeMs),
      series: held.series,
      buckets: held.buckets,
    };
  };

  const writerFigures = async () => {
    const [online, sinks] = await Promise.all([parts.online(), parts.sinks()]);
    return [
      { name: "online-store", store: { ...stores.online }, pending: online.pending(), dropped: online.dropped() },
      { name: "offline-store", store: { ...stores.offline }, pending: sinks.pending(), dropped: sinks.dropped() },
    ];
  };

  let measuring: Promise<Volume[]> | undefined;
  const volumes = (): Promise<Volume[]> => {
    measuring ??= measureVolumes(dataDir).finally(() => {
      measuring = undefined;
    });
    return measuring;
  };

  /** The record of a component in a namespace, and the spec that it is merged over. */
  const placeOf = async (name: SpecKind, namespace: string, namespaces: readonly Namespace[]) => {
    const { spec, status } = await running[name]();
    if (name !== "telemetry" || namespace === "" || namespace === SERVER_NAMESPACE) return { record: name, base: spec, status };
    const found = namespaces.find((one) => one.id === namespace || one.name === namespace);
    if (!found) {
      const names = [SERVER_NAMESPACE, ...namespaces.map((one) => one.name)];
      throw new Failure("not_found", `There is no namespace ${JSON.stringify(namespace.slice(0, 100))}.`, {
        hint: didYouMean(namespace.slice(0, 100), names) || `A namespace is an environment, or '${SERVER_NAMESPACE}': ${names.join(", ")}.`,
      });
    }
    const whole = mergeSpec(spec, (await components.read(name)).spec);
    return { record: `${name}/${found.id}`, base: { ...whole, namespace: found.name }, status };
  };

  const checkKind = (name: ComponentName): SpecKind => {
    if (name === "volumes") throw new Failure("failed_precondition", "Volumes are measured, and cannot be changed.");
    return name;
  };

  /** What `given` makes of a record: what is recorded then, and the changes of the spec. */
  const changed = (name: SpecKind, base: JsonObject, before: JsonObject, given: JsonObject) => {
    const old = mergeSpec(base, before);
    const recorded = beyond(base, mergeSpec(old, given));
    const changes = changesOf(name, old, mergeSpec(base, recorded));
    return { recorded, changes };
  };

  /** Refuses topics with fewer partitions than they have in an environment. */
  const refuseFewerPartitions = async (kind: SpecKind, changes: readonly SpecChange[]): Promise<void> => {
    if (kind !== "kafka-topics") return;
    const there = await (await parts.topics()).topics();
    for (const { after } of changes) {
      if (after === undefined || !isJsonObject(after) || typeof after.partitions !== "number") continue;
      const { name, partitions } = after;
      const most = Math.max(0, ...there.filter(({ topic }) => topic === name).map((one) => one.partitions));
      if (partitions < most)
        throw new Failure("failed_precondition", `The topic '${String(name)}' has ${most} partitions, and a topic never loses any.`, {
          hint: `Say \`partitions: ${most}\` or more, or take another name.`,
        });
    }
  };

  const read = (name: ComponentName, text: string): { kind: SpecKind; given: JsonObject; namespace: string } => {
    const kind = checkKind(name);
    const given = readSpec(kind, text);
    checkLocal(kind, given);
    return { kind, given, namespace: kind === "telemetry" && typeof given.namespace === "string" ? given.namespace : "" };
  };

  return {
    async describe(name, namespace, namespaces) {
      if (name === "volumes") return { spec: { volumes: (await volumes()).map(volumeSpec) }, etag: "" };
      const { record, base, status } = await placeOf(name, namespace, namespaces);
      const { spec: recorded, etag } = await components.read(record);
      const spec = mergeSpec(base, recorded);
      const notApplied = changesOf(name, base, spec).filter(({ applied }) => !applied);
      const more: JsonObject = notApplied.length === 0 ? {} : { recorded_not_applied: notApplied.map(({ path }) => path.join(".")) };
      const described: JsonObject = { ...spec, status: { ...status, ...more } };
      return { spec: described, etag };
    },
    async compare(name, text, namespaces) {
      const { kind, given, namespace } = read(name, text);
      const { record, base } = await placeOf(kind, namespace, namespaces);
      const { spec: before, etag } = await components.read(record);
      const { changes } = changed(kind, base, before, given);
      await refuseFewerPartitions(kind, changes);
      return { changes, etag };
    },
    async apply(name, text, namespaces, etag) {
      const { kind, given, namespace } = read(name, text);
      const { record, base } = await placeOf(kind, namespace, namespaces);
      const wanted = changed(kind, base, (await components.read(record)).spec, given);
      await refuseFewerPartitions(kind, wanted.changes);
      let changes: SpecChange[] = [];
      const change = (before: ComponentRecord): ComponentRecord => {
        const made = changed(kind, base, before.spec, given);
        changes = made.changes;
        return { ...before, spec: made.recorded };
      };
      await components.change(record, change, etag === "" ? undefined : etag);
      return changes;
    },
    migrate: async () => (await parts.telemetry()).migrate(),
    async stats(name) {
      if (name === "metrics") {
        const [telemetry, logs] = await Promise.all([parts.telemetry(), parts.logs()]);
        const kept = await (await parts.metrics()).figures();
        const [figures, lines, writers] = await Promise.all([telemetry.figures(), logs.figures(), writerFigures()]);
        const queries = recorded.sinceStart("query.count").sum;
        const failed = recorded.sinceStart("query.errors").sum;
        return [
          counter("svc_queries", "Queries that this server answered, without and with errors.", [
            [{ result: "ok" }, queries - failed],
            [{ result: "failed" }, failed],
          ]),
          histogram("svc_query_duration_seconds", "Time that queries took.", recorded.sinceStart("query.latency")),
          gauge("svc_telemetry_size_bytes", "Bytes in use in the telemetry store.", figures.bytes),
          gauge("svc_telemetry_limit_bytes", "Bytes above which the oldest telemetry is removed.", figures.maxBytes),
          gauge("svc_telemetry_pending_records", "Telemetry that waits to be written.", figures.pendingRecords),
          gauge("svc_metrics_size_bytes", "Bytes in use in the store of metrics.", kept.bytes),
          gauge("svc_metrics_limit_bytes", "Bytes above which the oldest metrics are removed.", kept.maxBytes),
          gauge("svc_metrics_series", "Series of the store of metrics.", kept.series),
          counter("svc_telemetry_dropped_records", "Telemetry that was dropped.", telemetry.dropped()),
          gauge("svc_logs_size_bytes", "Bytes in use in the log store.", lines.bytes),
          gauge("svc_logs_limit_bytes", "Bytes above which the oldest lines are removed.", lines.maxBytes),
          gauge("svc_logs_pending_records", "Lines that wait to be written.", lines.pendingRecords),
          counter("svc_logs_dropped_records", "Lines that were dropped.", logs.dropped()),
          gauge(
            "svc_persistence_pending_values",
            "Values that wait to be written.",
            writers.map(({ name: writer, pending }) => [{ writer }, pending]),
          ),
          counter(
            "svc_persistence_dropped_values",
            "Values that were dropped before they were written.",
            writers.map(({ name: writer, dropped }) => [{ writer }, dropped]),
          ),
          suspendedGauge(["persistence", "telemetry"]),
        ];
      }
      if (name === "gateway") {
        const byCode = new Map<string, number>();
        for (const series of recorded.series({ environmentId: SERVER_SCOPE, metric: "http.count" })) {
          const { status = "" } = series.labels;
          byCode.set(status, (byCode.get(status) ?? 0) + series.sinceStart().sum);
        }
        return [
          counter(
            "svc_http_requests",
            "Requests that were answered, by status.",
            [...byCode].sort(([one], [other]) => (one < other ? -1 : 1)).map(([code, count]) => [{ code }, count]),
          ),
          histogram("svc_http_request_duration_seconds", "Time until requests were answered.", recorded.sinceStart("http.latency")),
          gauge("svc_http_requests_in_flight", "Requests that are being answered.", inFlight()),
          gauge("svc_http_body_bytes", "Bytes of requests' bodies that are held.", parts.bodyBytes()),
          suspendedGauge(["gateway"]),
        ];
      }
      if (name === "volumes") {
        const measured = await volumes();
        const of = (value: (volume: Volume) => number) => measured.map((volume) => [{ volume: volume.name }, value(volume)] as const);
        return [
          gauge(
            "svc_volume_used_bytes",
            "Bytes on the disk that a folder of the data directory takes.",
            of(({ usedBytes }) => usedBytes),
          ),
          gauge(
            "svc_volume_available_bytes",
            "Bytes that could still be written to its file system.",
            of(({ availableBytes }) => availableBytes),
          ),
          gauge(
            "svc_volume_capacity_bytes",
            "Bytes of its file system.",
            of(({ capacityBytes }) => capacityBytes),
          ),
        ];
      }
      throw new Failure("not_found", `There are no counters of ${name}.`, { hint: "There are those of metrics, gateway and volumes." });
    },
    async setSuspended(name, suspended) {
      if (!SUSPENDABLE.includes(name))
        throw new Failure("failed_precondition", `The component ${name} cannot be suspended.`, {
          hint: `Those that can: ${SUSPENDABLE.join(", ")}.`,
        });
      const { id, before } = await components.change(name, (record) => ({ ...record, suspended }));
      return { id, changed: before.suspended !== suspended };
    },
  };

  function suspendedGauge(names: readonly Suspendable[]): MetricFamily {
    const values = names.map((component) => [{ component }, components.isSuspended(component) ? 1 : 0] as const);
    return gauge("svc_component_suspended", "Whether a component is suspended.", values);
  }
}

/** Refuses values that have a meaning here and cannot be applied. */
function checkLocal(kind: SpecKind, spec: JsonObject): void {
  if (kind === "kafka-topics") checkTopics(spec.topics);
  if (kind !== "metrics") return;
  for (const store of ["", "log_", "trace_", "metric_"]) checkBounds(`${store}retention`, `${store}storage`, spec);
  const { trace_sample_rate: rate, trace_sample_limit: limit } = spec;
  if (typeof rate === "number" && !(rate >= 0 && rate <= 1))
    throw new Failure("invalid_argument", `trace_sample_rate is ${rate}, and has to be a share of queries from 0 to 1.`);
  if (typeof limit === "number" && !(limit >= 0 && limit <= MOST_SAMPLES))
    throw new Failure(
      "invalid_argument",
      `trace_sample_limit is ${limit}, and has to be a number of traces a second from 0 to ${MOST_SAMPLES}.`,
    );
}

/** Checks topics, which are the server's own. Throws Failure. */
function checkTopics(topics: Json | undefined): void {
  for (const { name, partitions, replication, retention_ms: retention } of (Array.isArray(topics) ? topics : []).filter(isJsonObject)) {
    const wrong = (what: string): Failure => new Failure("invalid_argument", `The topic ${JSON.stringify(name).slice(0, 100)} ${what}.`);
    if (!TOPIC_NAME.test(String(name)) || name === "." || name === "..")
      throw wrong("has a name that no topic can have: it has letters, digits, '.', '_' and '-', at most 249 of them");
    if (typeof partitions === "number" && (partitions < 1 || partitions > MAX_PARTITIONS))
      throw wrong(`has partitions: ${partitions}, and can have 1 to ${MAX_PARTITIONS}`);
    if (typeof replication === "number" && replication !== 1)
      throw wrong(`has replication: ${replication}, and this server keeps every message once: write 1, or leave it out`);
    if (
      typeof retention === "number" &&
      !(Number.isInteger(retention) && retention >= LEAST_TOPIC_RETENTION_MS && retention <= MOST_RETENTION_MS)
    )
      throw wrong(
        `has retention_ms: ${retention}, and can have ${LEAST_TOPIC_RETENTION_MS} to ${MOST_RETENTION_MS}, in whole milliseconds`,
      );
  }
}

/** Checks how long and how much a store keeps. Throws Failure. */
function checkBounds(age: string, size: string, { [age]: retention, [size]: storage }: JsonObject): void {
  const ms = typeof retention === "string" ? parseDuration(retention) : LEAST_RETENTION_MS;
  if (ms === undefined || !Number.isFinite(ms) || ms < LEAST_RETENTION_MS)
    throw new Failure(
      "invalid_argument",
      `${age} is ${JSON.stringify(retention)}, and has to be a duration of at least an hour, such as 7d.`,
    );
  if (typeof storage !== "string") return;
  const bytes = quantityValue(storage) ?? 0;
  if (bytes < LEAST_STORAGE || !Number.isSafeInteger(bytes))
    throw new Failure("invalid_argument", `${size} is ${storage}, and has to be at least ${bytesQuantity(LEAST_STORAGE)}, in whole bytes.`);
}

/** The changes of a spec: of topics one for each, of everything else value by value. */
function changesOf(name: SpecKind, before: JsonObject, after: JsonObject): SpecChange[] {
  const changes = name === "kafka-topics" ? topicChanges(before.topics, after.topics) : jsonChanges(before, after);
  return changes.map((change) => ({ ...change, applied: isApplied(name, change.path) }));
}

function isApplied(name: SpecKind, path: SpecChange["path"]): boolean {
  return name === "kafka-topics" || (name === "metrics" && APPLIED_METRICS.includes(path[0] as string));
}

function topicChanges(before: Json | undefined, after: Json | undefined): Omit<SpecChange, "applied">[] {
  const old = byName(before);
  const now = byName(after);
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((topic) => {
    const [was, is] = [old.get(topic), now.get(topic)];
    if (was !== undefined && is !== undefined && equalsJson(was, is)) return [];
    return [{ path: ["topics", topic], before: was, after: is }];
  });
}

function byName(topics: Json | undefined): Map<string, Json> {
  const items = Array.isArray(topics) ? topics.filter(isJsonObject) : [];
  return new Map(items.map((item) => [String(item.name), item as Json]));
}

function volumeSpec({ name, path, availableBytes, capacityBytes, isComplete, usedBytes }: Volume): JsonObject {
  return {
    metrics: {
      available_bytes: availableBytes,
      capacity_bytes: capacityBytes,
      used_bytes: usedBytes,
      ...(!isComplete && { used_bytes_at_least: true }),
    },
    spec: {
      access_modes: ["ReadWriteOnce"],
      capacity: bytesQuantity(capacityBytes),
      claim: path,
      name,
      reclaim_policy: "Retain",
      storage_class: "local",
    },
  };
}
