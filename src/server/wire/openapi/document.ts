/**
 * The HTTP API as OpenAPI 3.1, for tools and generated clients: the plain endpoints, said here, and
 * the methods of all services with their messages, made of the contract.
 */

import { ARROW_STREAM } from "../../../domain/arrow/format.ts";
import { MessageSchemas, methodPaths, type Schema } from "./message-schemas.ts";

const STRING: Schema = { type: "string" };
const BOOLEAN: Schema = { type: "boolean" };
const INTEGER: Schema = { type: "integer" };
const TIME: Schema = { type: "string", format: "date-time" };
const STRINGS: Schema = { type: "array", items: STRING };
const ANY: Schema = {};

/** A member that may also be null. */
function orNull({ type, ...rest }: Schema): Schema {
  return { ...rest, type: [type, "null"].flat() };
}

function object(properties: Readonly<Record<string, Schema>>, required: readonly string[] = Object.keys(properties)): Schema {
  return { type: "object", properties, required };
}

function listOf(items: Schema): Schema {
  return { type: "array", items };
}

function mapOf(values: Schema): Schema {
  return { type: "object", additionalProperties: values };
}

function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

const SCHEMAS: Readonly<Record<string, Schema>> = {
  Problem: {
    ...object({ code: STRING, category: STRING, message: STRING }, []),
    description: "A single error: of a feature, a row, or the request.",
  },
  Error: {
    ...object({ code: STRING, error: STRING, message: STRING, hint: STRING, errors: listOf(ref("Problem")) }, [
      "code",
      "message",
      "errors",
    ]),
    description: "`code` is Connect's, `error` the exact one, `hint` the next step.",
  },
  QueryMeta: {
    ...object({ query_id: STRING, query_timestamp: TIME, query_hash: STRING, execution_duration_s: { type: "number" }, types: mapOf(ANY) }),
    description: "About a query: its id, time, deployment and environment, and the types of its outputs.",
  },
  Result: {
    ...object({ field: STRING, value: ANY, pkey: ANY, ts: TIME, error: ref("Problem"), meta: { type: "object" } }, ["field", "ts"]),
    description: "The value of one feature; null when it failed, and then `error` says why.",
  },
  Query: {
    type: "object",
    description: "A query. Fields that are not known are refused unless they are empty.",
    properties: {
      inputs: mapOf(ANY),
      outputs: STRINGS,
      staleness: mapOf(STRING),
      context: object({ environment: STRING, branch: STRING, tags: STRINGS }, []),
      query_context: { type: "object" },
      deployment_id: STRING,
      correlation_id: STRING,
      query_name: STRING,
      query_name_version: STRING,
      meta: mapOf(STRING),
      now: { type: ["string", "array"], items: STRING },
      include_meta: BOOLEAN,
      explain: BOOLEAN,
      trace: BOOLEAN,
      store_plan_stages: BOOLEAN,
      planner_options: mapOf({ type: ["string", "boolean", "number"] }),
      encoding_options: object({ encode_structs_as_objects: BOOLEAN, encode_large_integers_as_numbers: BOOLEAN }, []),
    },
  },
};

/** An operation: what it is, what it takes, and what it answers with. */
interface Operation {
  readonly summary: string;
  readonly body?: Schema;
  /** Whether the body, and the answer, may be a table of Arrow. */
  readonly arrow?: { readonly body: boolean; readonly answer: boolean };
  readonly answer: Schema;
  readonly parameters?: readonly Schema[];
  /** Whether it needs no token. */
  readonly isOpen?: boolean;
  /** Statuses of its answers; default: 200. */
  readonly statuses?: readonly number[];
}

function inPath(name: string): Schema {
  return { name, in: "path", required: true, schema: STRING };
}

function inQuery(name: string, schema: Schema): Schema {
  return { name, in: "query", schema };
}

const DELETED = {
  deletion_id: STRING,
  done: BOOLEAN,
  online_values: INTEGER,
  offline_values: INTEGER,
  approval_id: STRING,
  errors: listOf(ref("Problem")),
};
const RECORD: Schema = { type: "object" };

/** The operations of the plain endpoints, by path and method. */
const OPERATIONS: Readonly<Record<string, Readonly<Record<string, Operation>>>> = {
  "/health": { get: { summary: "Whether the process lives", isOpen: true, answer: object({ status: STRING, version: STRING }) } },
  "/health/ready": {
    get: {
      summary: "Whether requests should be sent to this node",
      isOpen: true,
      answer: object({ status: STRING }),
      statuses: [200, 503],
    },
  },
  "/v1/openapi.json": { get: { summary: "This document", isOpen: true, answer: object({ openapi: STRING, info: RECORD, paths: RECORD }) } },
  "/v1/oauth/token": {
    post: {
      summary: "Exchanges the id and secret of a client for a token (RFC 6749, section 4.4)",
      isOpen: true,
      body: object({ client_id: STRING, client_secret: STRING, grant_type: { const: "client_credentials" }, scope: STRING }, [
        "grant_type",
      ]),
      answer: object({
        access_token: STRING,
        token_type: STRING,
        expires_in: INTEGER,
        expires_at: TIME,
        scope: STRING,
        api_server: STRING,
        grpc_server: STRING,
        primary_environment: orNull(STRING),
        environments: mapOf(STRING),
        engines: mapOf(STRING),
      }),
    },
  },
  "/v1/who-am-i": {
    get: {
      summary: "Who the token is",
      answer: object({
        user: STRING,
        user_id: STRING,
        team_id: STRING,
        environment_id: STRING,
        environment_name: STRING,
        permissions: STRINGS,
      }),
    },
  },
  "/v1/query/online": {
    post: {
      summary: "Computes or serves features for one row",
      body: ref("Query"),
      answer: object({ data: listOf(ref("Result")), errors: listOf(ref("Problem")), meta: ref("QueryMeta") }, ["data", "meta"]),
    },
  },
  "/v1/query/bulk": {
    post: {
      summary:
        "The same for many rows. As a table of Arrow, the columns are the inputs, and the schema's metadata has the rest of the query as `svc.query`",
      body: ref("Query"),
      arrow: { body: true, answer: true },
      answer: object(
        { data: mapOf({ type: "array" }), errors: listOf(ref("Problem")), hits: mapOf({ type: "array" }), meta: ref("QueryMeta") },
        ["data", "meta"],
      ),
    },
  },
  "/v1/query/multi": {
    post: {
      summary: "Several queries at once, each of which comes to what `/v1/query/online` would answer; one that is refused has a `code`",
      body: object({ queries: { ...listOf(ref("Query")), minItems: 1, maxItems: 100 } }, ["queries"]),
      answer: object(
        {
          outcomes: listOf(
            object({ data: listOf(ref("Result")), errors: listOf(ref("Problem")), meta: ref("QueryMeta"), code: STRING }, ["data"]),
          ),
        },
        ["outcomes"],
      ),
    },
  },
  "/v1/query/plan": {
    post: {
      summary: "The plan of a query, which is not run",
      body: ref("Query"),
      answer: object({ deployment_id: STRING, errors: listOf(ref("Problem")) }),
    },
  },
  "/v1/query/expression": {
    post: {
      summary: "Computes expressions of feature classes that are not deployed, given as the proto3 JSON of svc.v1.Graph",
      body: object({ graph: STRING, inputs: RECORD, outputs: STRINGS, now: TIME, encoding_options: RECORD }, ["graph", "outputs"]),
      answer: object({ data: listOf(ref("Result")), errors: listOf(ref("Problem")), meta: ref("QueryMeta") }, ["data", "meta"]),
    },
  },
  "/v1/features/upload": {
    post: {
      summary: "Stores values. As a table of Arrow, the schema's metadata has the options as `svc.upload`",
      body: object(
        {
          columns: mapOf({ type: "array" }),
          time_column: STRING,
          time: TIME,
          known_at_column: STRING,
          known_at: TIME,
          target: STRING,
          dry_run: BOOLEAN,
        },
        ["columns"],
      ),
      arrow: { body: true, answer: false },
      answer: object({ rows: INTEGER, online_values: INTEGER, offline_values: INTEGER, trace_id: STRING, errors: listOf(ref("Problem")) }),
    },
  },
  "/v1/features/rows": {
    delete: {
      summary: "Deletes stored values of rows",
      body: object({ namespace: STRING, features: STRINGS, tags: STRINGS, primary_keys: listOf({ type: ["string", "number"] }) }, [
        "namespace",
        "primary_keys",
      ]),
      answer: object(DELETED, ["errors"]),
    },
  },
  "/v1/features/columns": {
    delete: {
      summary: "Drops all that is stored of features, of all their versions",
      body: object({ namespace: STRING, features: STRINGS }),
      answer: object({ ...DELETED, features: listOf(RECORD) }, ["errors"]),
    },
  },
  "/v1/branches": {
    get: {
      summary: "The branches of the environment",
      answer: object({
        branches: listOf(object({ name: STRING, deploys: INTEGER, last_deployed_at: TIME, latest_deployment_id: STRING })),
      }),
    },
  },
  "/v1/runs": {
    post: {
      summary: "Runs a resolver by itself",
      body: object(
        {
          resolver: STRING,
          lower_bound: TIME,
          upper_bound: TIME,
          idempotency_key: STRING,
          persist_online: BOOLEAN,
          persist_offline: BOOLEAN,
          deployment_id: STRING,
        },
        ["resolver"],
      ),
      answer: object({ id: STRING, status: STRING, resolver: STRING }),
    },
  },
  "/v1/runs/{id}": {
    get: { summary: "A run", parameters: [inPath("id")], answer: object({ id: STRING, status: STRING, resolver: STRING }) },
  },
  "/v1/datasets/{name}": {
    get: {
      summary: "A dataset with its revisions and files, by name or id",
      parameters: [
        inPath("name"),
        inQuery("page_size", INTEGER),
        inQuery("page_token", STRING),
        inQuery("links", BOOLEAN),
        inQuery("preview", INTEGER),
      ],
      answer: RECORD,
    },
  },
  "/v1/offline-queries": {
    post: { summary: "Begins an offline query", body: RECORD, answer: object({ id: STRING, status: STRING }) },
  },
  "/v1/offline-queries/uploads": {
    post: {
      summary: "An address for a file with the rows of an offline query",
      body: object({ sha256: STRING, size_bytes: INTEGER }),
      answer: object({ upload_id: STRING, url: STRING, expires_at: TIME }),
    },
  },
  "/v1/offline-queries/{id}": {
    get: {
      summary: "An offline query with its files",
      parameters: [inPath("id")],
      answer: object({ id: STRING, status: STRING, files: listOf(RECORD) }),
    },
  },
  "/v1/offline-queries/{id}/status": {
    get: { summary: "How far an offline query has come", parameters: [inPath("id")], answer: object({ id: STRING, status: STRING }) },
  },
  "/v1/offline-queries/{id}/table": {
    get: {
      summary: "Its answer as one file",
      parameters: [inPath("id"), inQuery("format", { enum: ["parquet", "csv", "json"] })],
      answer: object({ name: STRING, rows: INTEGER, bytes: INTEGER, url: STRING }, ["url"]),
    },
  },
};

const SCOPE = ["svc-environment", "svc-branch", "svc-deployment", "svc-project"].map((name) => ({
  ...{ name, in: "header", schema: STRING },
  description: "A name or an id; left out: the usual one.",
}));

const REFUSED: Schema = { description: "What is wrong.", content: { "application/json": { schema: ref("Error") } } };

/** Makes the document of a server of a version. */
export function openApi(version: string): Schema {
  const schemas = new MessageSchemas();
  const methods = methodPaths(schemas, REFUSED);
  const plain = Object.entries(OPERATIONS).map(
    ([path, operations]) =>
      [path, Object.fromEntries(Object.entries(operations).map(([method, one]) => [method, operation(`${method} ${path}`, one)]))] as const,
  );
  return {
    openapi: "3.1.0",
    info: {
      title: "svc",
      version,
      description: "The HTTP API. All services answer over Connect and gRPC too; their .proto files: `svc docs proto`.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    security: [{ token: [] }],
    paths: { ...Object.fromEntries(plain), ...methods },
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer", description: "A token of POST /v1/oauth/token." } },
      schemas: { ...SCHEMAS, ...schemas.schemas },
    },
  };
}

function operation(operationId: string, { answer, arrow, body, isOpen, parameters = [], statuses = [200], summary }: Operation): Schema {
  const table = { [ARROW_STREAM]: { schema: { type: "string", contentMediaType: ARROW_STREAM } } };
  const content = (schema: Schema, hasTable: boolean | undefined) => ({ "application/json": { schema }, ...(hasTable ? table : {}) });
  const answers = statuses.map((status) => [status, { description: summary, content: content(answer, arrow?.answer) }] as const);
  return {
    operationId: operationId.replaceAll(/[^a-z]+/gi, "_"),
    summary,
    tags: ["HTTP"],
    ...(isOpen ? { security: [] } : {}),
    parameters: [...parameters, ...(isOpen ? [] : SCOPE)],
    ...(body ? { requestBody: { required: true, content: content(body, arrow?.body) } } : {}),
    responses: { ...Object.fromEntries(answers), default: REFUSED },
  };
}
