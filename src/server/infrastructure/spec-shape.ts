/**
 * The shapes of components' specs, and reading a spec that somebody wrote: every key and value is
 * checked, so that nothing is recorded that means nothing.
 */

import { didYouMean } from "../../domain/closest.ts";
import { isJsonObject, type Json, type JsonObject, jsonObject } from "../../domain/json-value.ts";
import { quantityValue } from "../../domain/quantity.ts";
import { Failure } from "../failure.ts";

/** A component whose spec can be changed. */
export type SpecKind = "metrics" | "persistence" | "gateway" | "kafka-topics" | "telemetry";

type Shape = "text" | "count" | "number" | "quantity" | "texts" | "mapping" | Keys | { readonly items: Keys };
interface Keys {
  readonly keys: Readonly<Record<string, Shape>>;
}

const keys = (shapes: Readonly<Record<string, Shape>>): Keys => ({ keys: shapes });
const texts = (...names: readonly string[]): Record<string, Shape> => Object.fromEntries(names.map((name) => [name, "text"]));
const RESOURCES = keys({ cpu: "quantity", memory: "quantity" });

const SHAPES: Readonly<Record<SpecKind, Keys>> = {
  metrics: keys({
    ...texts("backup_bucket", "backup_iam_role_arn", "connection_pool_max_connections", "connection_pool_size", "database_name"),
    ...texts("log_retention", "metric_retention", "trace_retention", "namespace", "retention", "secret_name", "timescale_image"),
    connection_pool_replicas: "count",
    database_replicas: "count",
    limit: RESOURCES,
    log_storage: "quantity",
    metric_storage: "quantity",
    trace_storage: "quantity",
    trace_sample_rate: "number",
    trace_sample_limit: "number",
    postgres_parameters: "texts",
    request: RESOURCES,
    storage: "quantity",
  }),
  persistence: keys({
    ...texts("api_server_host", "kafka_bootstrap_servers", "kafka_sasl_mechanism", "kafka_sasl_secret", "kafka_security_protocol"),
    ...texts("metadata_provider", "redis_is_clustered"),
    common_persistence_specs: keys(
      texts(
        "bigquery_parquet_upload_subscription_id",
        "bigquery_streaming_write_subscription_id",
        "bigquery_streaming_write_topic",
        "bigquery_upload_bucket",
        "bigquery_upload_topic",
        "bus_backend",
        "bus_writer_image_go",
        "bus_writer_image_python",
        "kafka_dlq_topic",
        "metrics_bus_subscription_id",
        "metrics_bus_topic_id",
        "namespace",
        "operation_subscription_id",
        "result_bus_metrics_subscription_id",
        "result_bus_offline_store_subscription_id",
        "result_bus_online_store_subscription_id",
        "result_bus_topic_id",
        "secret_client",
        "service_account_name",
      ),
    ),
    writers: {
      items: keys({
        ...texts("bus_subscriber_type", "name", "version"),
        default_replica_count: "count",
        hpa_specs: keys({ hpa_max_replicas: "count" }),
        limit: RESOURCES,
        request: RESOURCES,
      }),
    },
  }),
  gateway: keys({
    ...texts("gateway_class_name", "gateway_name", "namespace"),
    listeners: {
      items: keys({
        ...texts("name", "protocol"),
        allowed_routes: keys({ namespaces: keys({ from: "text" }) }),
        port: "count",
      }),
    },
  }),
  "kafka-topics": keys({
    topics: { items: keys({ name: "text", partitions: "count", replication: "count", retention_ms: "number" }) },
  }),
  telemetry: keys({
    click_house: keys({ click_house_version: "text", limit: RESOURCES, request: RESOURCES }),
    customer_collector: "mapping",
    namespace: "text",
    otel: keys({ limit: RESOURCES, otel_collector_version: "text", request: RESOURCES }),
  }),
};

/** What `describe` measures: read back, it is passed over. */
const MEASURED = "status";
const MAX_TEXT = 2_000;
const MAX_ITEMS = 1_000;
const MAX_DEPTH = 20;

/**
 * Reads a spec: keys in snake_case or camelCase, null for what is to be removed. Throws Failure
 * invalid_argument that says where something is wrong.
 */
export function readSpec(kind: SpecKind, text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Failure("invalid_argument", "The spec is no JSON.");
  }
  if (!isJsonObject(value)) throw new Failure("invalid_argument", `The spec of ${kind} is no object with keys.`);
  const { [MEASURED]: _measured, ...spec } = value as JsonObject;
  return readKeys(SHAPES[kind], spec, "");
}

function readKeys({ keys: shapes }: Keys, value: Json, at: string): JsonObject {
  if (!isJsonObject(value)) throw wrong(at, value, "an object with keys");
  const names = Object.keys(shapes);
  const given = new Map<string, Json>();
  for (const [written, inner] of Object.entries(value)) {
    const name = names.includes(written) ? written : written.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const shape = Object.hasOwn(shapes, name) ? shapes[name] : undefined;
    const place = at === "" ? name : `${at}.${name}`;
    if (shape === undefined)
      throw new Failure("invalid_argument", `There is no key ${JSON.stringify(written.slice(0, 100))}${at === "" ? "" : ` in ${at}`}.`, {
        hint: didYouMean(name.slice(0, 100), names) || `There is: ${names.join(", ")}.`,
      });
    if (given.has(name)) throw new Failure("invalid_argument", `The key ${place} is given twice, in two spellings.`);
    given.set(name, inner === null ? null : readValue(shape, inner, place));
  }
  return jsonObject(given);
}

function readValue(shape: Shape, value: Json, at: string): Json {
  if (typeof shape === "object" && "keys" in shape) return readKeys(shape, value, at);
  if (typeof shape === "object") return readItems(shape.items, value, at);
  switch (shape) {
    case "count":
      if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 1_000_000) return value;
      throw wrong(at, value, "a whole number from 0 to 1,000,000");
    case "number":
      if (typeof value === "number" && Number.isFinite(value)) return value;
      throw wrong(at, value, "a number");
    case "quantity": {
      const text = typeof value === "number" ? String(value) : value;
      if (typeof text === "string" && quantityValue(text) !== undefined) return text;
      throw wrong(at, value, "a quantity such as 500m, 1 or 100Gi");
    }
    case "text":
      return readText(value, at);
    case "texts":
      if (!isJsonObject(value) || Object.keys(value).length > MAX_ITEMS) throw wrong(at, value, `a mapping of at most ${MAX_ITEMS} texts`);
      return jsonObject(
        Object.entries(value).map(([name, inner]) => [name, inner === null ? null : readText(inner, `${at}.${name.slice(0, 100)}`)]),
      );
    case "mapping":
      if (!isJsonObject(value) || depthOf(value) > MAX_DEPTH) throw wrong(at, value, `a mapping at most ${MAX_DEPTH} deep`);
      return value;
  }
}

function readItems(shape: Keys, value: Json, at: string): Json {
  if (!Array.isArray(value) || value.length > MAX_ITEMS) throw wrong(at, value, `a list of at most ${MAX_ITEMS} items`);
  const items = value.map((item, index) => readKeys(shape, item as Json, `${at}[${index}]`));
  const named = new Set<Json | undefined>();
  for (const [index, { name }] of items.entries()) {
    if (typeof name !== "string" || name === "")
      throw new Failure("invalid_argument", `${at}[${index}] has no name, by which it is known.`, { hint: "Give each item a `name`." });
    if (named.has(name)) throw new Failure("invalid_argument", `${at} has two items with the name ${JSON.stringify(name)}.`);
    named.add(name);
  }
  return items;
}

function readText(value: Json, at: string): string {
  const text = typeof value === "number" || typeof value === "boolean" ? String(value) : value;
  if (typeof text === "string" && text.length <= MAX_TEXT && !/[\p{Cc}]/u.test(text.replaceAll("\n", ""))) return text;
  throw wrong(at, value, `text of at most ${MAX_TEXT} characters`);
}

function depthOf(value: Json): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Object.values(value).reduce<number>((most, inner) => Math.max(most, depthOf(inner as Json)), 0);
}

function wrong(at: string, value: Json, wanted: string): Failure {
  return new Failure("invalid_argument", `${at || "The spec"} is ${JSON.stringify(value).slice(0, 60)}, and has to be ${wanted}.`);
}
