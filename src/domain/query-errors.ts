/** Errors of queries and runs, as both halves know them: the fields that a search can name. */

import type { FieldSet } from "./search/fields.ts";

/** Fields of errors. */
export const QUERY_ERROR_FIELDS: FieldSet = {
  fields: {
    message: { kind: "text", meaning: "a part of the message" },
    code: { kind: "text", meaning: "a part of the code, such as resolver_failed" },
    resolver: { kind: "name", meaning: "the resolver" },
    feature: { kind: "name", meaning: "the feature, by its path" },
    query_name: { kind: "name", meaning: "the name of the query" },
    operation_id: { kind: "name", meaning: "the query, run or offline query", aliases: ["query_id", "run_id"] },
    kind: { kind: "enum", meaning: "what failed", values: ["query", "bulk_query", "run", "offline_query", "sink", "function"] },
    deployment: { kind: "name", meaning: "the deployment", aliases: ["deployment_id"] },
    branch: { kind: "name", meaning: "the branch" },
    count: { kind: "number", meaning: "how often the operation had it" },
  },
  words: ["message"],
};
