/** Runs of online queries, as both halves know them: the fields that a search can name. */

import type { FieldSet } from "./search/fields.ts";

/** Fields of query runs. */
export const QUERY_RUN_FIELDS: FieldSet = {
  fields: {
    id: { kind: "text", meaning: "a part of the run's id", aliases: ["query_id", "operation_id"] },
    query_name: { kind: "name", meaning: "the name of the query", aliases: ["name"] },
    query_version: { kind: "name", meaning: "the version of the named query", aliases: ["version"] },
    kind: { kind: "enum", meaning: "one row or many", values: ["online", "bulk"] },
    duration: { kind: "duration", meaning: "how long it took in the engine", aliases: ["latency"] },
    errors: { kind: "number", meaning: "the number of its errors", aliases: ["error_count"] },
    error_code: { kind: "text", meaning: "a part of its errors' codes" },
    hit_share: { kind: "number", meaning: "the share of its values that the online store served, 0 to 1" },
    rows: { kind: "number", meaning: "the number of its rows" },
    deployment: { kind: "name", meaning: "the deployment", aliases: ["deployment_id"] },
    branch: { kind: "name", meaning: "the branch" },
    agent: { kind: "name", meaning: "the id of the client that asked", aliases: ["agent_id", "client_id"] },
    namespace: { kind: "name", meaning: "the namespace of its rows", aliases: ["root_namespace"] },
    primary_key: { kind: "name", meaning: "the primary key of its row, where that may be read", aliases: ["pkey"] },
    query_plan_id: { kind: "name", meaning: "the hash of its plan", aliases: ["plan", "query_hash"] },
    meta_query_id: { kind: "name", meaning: "the meta query that it belongs to", aliases: ["meta"] },
    correlation_id: { kind: "name", meaning: "the correlation id that the caller gave" },
    trace_id: { kind: "name", meaning: "its trace, where that is kept" },
  },
  words: ["query_name", "id"],
};
