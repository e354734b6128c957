/**
 * Log lines and requests of the gateway, as both halves know them: levels, components, and the
 * fields that a search can name.
 */

import type { Field, FieldSet } from "./search/fields.ts";

/** Levels of lines, from the least to the greatest. */
export const LOG_LEVELS = ["trace", "debug", "info", "warning", "error", "fatal"] as const;

/** How much a line matters. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Parts of the platform that write lines. `engine`: resolvers in queries; `branch`: those of
 * branches; `offline-query`: those in offline queries; `server`: the server itself; `build`: builds
 * of deployments; `compute`: containers; `app`: applications, which sent them.
 */
export const LINE_COMPONENTS = ["engine", "branch", "offline-query", "server", "build", "compute", "app"] as const;

/** The part of the platform that wrote a line; `gateway`: the record of a request. */
export type LogComponent = (typeof LINE_COMPONENTS)[number] | "gateway";

/** What stands before the names of attributes in a search. */
export const ATTRIBUTES = "attributes.";

const IDS = {
  operation_id: {
    kind: "name",
    meaning: "the query, run or offline query, or the deployment that was built",
    aliases: ["query_id", "run_id"],
  },
  correlation_id: { kind: "name", meaning: "the correlation id that the caller gave" },
  trace_id: { kind: "name", meaning: "the trace" },
  span_id: { kind: "name", meaning: "the span" },
} satisfies Record<string, Field>;

const LEVEL: Field = {
  kind: "enum",
  meaning: "the level",
  values: LOG_LEVELS,
  synonyms: { warn: "warning", err: "error", critical: "fatal" },
  aliases: ["severity"],
};

/** Fields of log lines. */
export const LINE_FIELDS: FieldSet = {
  fields: {
    message: { kind: "text", meaning: "a part of the message" },
    level: LEVEL,
    component: { kind: "enum", meaning: "the part of the platform", values: LINE_COMPONENTS },
    resolver: { kind: "name", meaning: "the resolver" },
    query_name: { kind: "name", meaning: "the name of the query" },
    ...IDS,
    deployment: { kind: "name", meaning: "the deployment", aliases: ["deployment_id"] },
    branch: { kind: "name", meaning: "the branch" },
    pod_name: { kind: "name", meaning: "the process, as `svc pods` names it", aliases: ["pod"] },
    resource_group: { kind: "name", meaning: "the resource group" },
    app: { kind: "name", meaning: "the application" },
    logger: { kind: "name", meaning: "the Python logger; stdout and stderr for what was printed" },
    all_filter: {
      kind: "text",
      meaning: "a part of any text of the line",
      of: ["message", "resolver", "query_name", ...Object.keys(IDS), "deployment", "branch", "pod_name", "resource_group", "app", "logger"],
    },
    resolver_filter: { kind: "text", meaning: "a part of the resolver's name", of: ["resolver"] },
  },
  words: ["message"],
  attributes: ATTRIBUTES,
};

/** Fields of requests. */
export const REQUEST_FIELDS: FieldSet = {
  fields: {
    path: { kind: "text", meaning: "a part of the path" },
    method: { kind: "name", meaning: "the method, such as POST" },
    response_code: { kind: "number", meaning: "the status of the answer", aliases: ["code", "status"] },
    duration: { kind: "duration", meaning: "how long it took to answer" },
    bytes: { kind: "size", meaning: "the size of the answer, where it was known before" },
    client_id: { kind: "name", meaning: "the client that called", aliases: ["client"] },
    route: { kind: "name", meaning: "the route of the gateway that it went to" },
    replica: { kind: "name", meaning: "the container that answered" },
    trace_id: { kind: "name", meaning: "the caller's trace" },
    level: LEVEL,
    all_filter: { kind: "text", meaning: "a part of any text of the request", of: ["path", "method", "client_id", "trace_id"] },
  },
  words: ["path"],
};
