/**
 * Integrations: the kinds of systems that sources and resolvers reach, and the variables that each
 * kind has.
 */

import { didYouMean } from "./closest.ts";
import { secretValueProblem } from "./secret-name.ts";

/** The form of a variable's value. */
export type VariableType = "text" | "host" | "port" | "url" | "boolean" | "brokers" | "service-account" | readonly string[];

/** A variable of an integration. */
export interface IntegrationVariable {
  /** Without the integration's name in front, for example PGHOST. */
  readonly name: string;
  /** What it is, for people. */
  readonly meaning: string;
  readonly type: VariableType;
  readonly isRequired: boolean;
  /** Whether it is typed without echo. All values are sealed alike. */
  readonly isSecret: boolean;
}

type Trait = "required" | "secret";
const variable = (name: string, meaning: string, type: VariableType, ...traits: Trait[]): IntegrationVariable => ({
  name,
  meaning,
  type,
  isRequired: traits.includes("required"),
  isSecret: traits.includes("secret"),
});

const AWS = [
  variable("AWS_REGION", "region", "text", "required"),
  variable("AWS_ACCESS_KEY_ID", "access key id", "text"),
  variable("AWS_SECRET_ACCESS_KEY", "secret access key", "text", "secret"),
  variable("AWS_SESSION_TOKEN", "session token of temporary keys", "text", "secret"),
  variable("AWS_ENDPOINT_URL", "address in place of the region's own", "url"),
];
const GOOGLE = [
  variable("GOOGLE_CREDENTIALS", "key of a service account, as JSON", "service-account", "required", "secret"),
  variable("GOOGLE_PROJECT", "project; default: that of the service account", "text"),
  variable("GOOGLE_ENDPOINT_URL", "address in place of Google's own", "url"),
];
const TLS_MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;

/** The kinds, each with its variables in the order in which they are asked for. */
export const INTEGRATION_KINDS = {
  athena: [
    ...AWS,
    variable("ATHENA_WORKGROUP", "workgroup; default: primary", "text"),
    variable("ATHENA_DATABASE", "database", "text"),
    variable("ATHENA_OUTPUT_LOCATION", "s3:// address of results", "text"),
  ],
  aws: AWS,
  bigquery: [...GOOGLE, variable("BIGQUERY_LOCATION", "location of the datasets", "text"), variable("BIGQUERY_DATASET", "dataset", "text")],
  clickhouse: [
    variable("CLICKHOUSE_HOST", "host", "host", "required"),
    variable("CLICKHOUSE_PORT", "port of HTTP; default: 8443, or 8123 without TLS", "port"),
    variable("CLICKHOUSE_USER", "user; default: default", "text"),
    variable("CLICKHOUSE_PASSWORD", "password", "text", "secret"),
    variable("CLICKHOUSE_DATABASE", "database", "text"),
    variable("CLICKHOUSE_SECURE", "whether TLS is used; default: true", "boolean"),
  ],
  cohere: [
    variable("COHERE_API_KEY", "API key", "text", "required", "secret"),
    variable("COHERE_BASE_URL", "address in place of Cohere's own", "url"),
  ],
  databricks: [
    variable("DATABRICKS_HOST", "host of the workspace", "host", "required"),
    variable("DATABRICKS_WAREHOUSE", "id of the SQL warehouse", "text", "required"),
    variable("DATABRICKS_TOKEN", "access token", "text", "required", "secret"),
    variable("DATABRICKS_CATALOG", "catalog", "text"),
    variable("DATABRICKS_SCHEMA", "schema", "text"),
    variable("DATABRICKS_ENDPOINT_URL", "address in place of https://HOST", "url"),
  ],
  dynamodb: [...AWS, variable("DYNAMODB_TABLE", "table", "text")],
  gcp: GOOGLE,
  kafka: [
    variable("KAFKA_BOOTSTRAP_SERVERS", "brokers, host:port, separated by commas", "brokers", "required"),
    variable("KAFKA_SECURITY_PROTOCOL", "security protocol; default: PLAINTEXT", ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]),
    variable("KAFKA_SASL_MECHANISM", "SASL mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]),
    variable("KAFKA_SASL_USERNAME", "SASL user", "text"),
    variable("KAFKA_SASL_PASSWORD", "SASL password", "text", "secret"),
    variable("KAFKA_SSL_CA", "certificate authorities in PEM, in place of the system's", "text"),
  ],
  kinesis: [...AWS, variable("KINESIS_STREAM", "stream", "text")],
  mysql: [
    variable("MYSQL_HOST", "host", "host", "required"),
    variable("MYSQL_PORT", "port; default: 3306", "port"),
    variable("MYSQL_USER", "user; default: root", "text"),
    variable("MYSQL_PASSWORD", "password", "text", "secret"),
    variable("MYSQL_DATABASE", "database", "text", "required"),
    variable("MYSQL_SSLMODE", "TLS; default: prefer", TLS_MODES),
  ],
  openai: [
    variable("OPENAI_API_KEY", "API key", "text", "required", "secret"),
    variable("OPENAI_BASE_URL", "address in place of OpenAI's own", "url"),
    variable("OPENAI_ORGANIZATION", "organization", "text"),
    variable("OPENAI_PROJECT", "project", "text"),
  ],
  postgresql: [
    variable("PGHOST", "host", "host", "required"),
    variable("PGPORT", "port; default: 5432", "port"),
    variable("PGUSER", "user; default: postgres", "text"),
    variable("PGPASSWORD", "password", "text", "secret"),
    variable("PGDATABASE", "database; default: the user's name", "text"),
    variable("PGSSLMODE", "TLS; default: prefer", TLS_MODES),
  ],
  pubsub: [...GOOGLE, variable("PUBSUB_SUBSCRIPTION", "subscription", "text")],
  redshift: [
    variable("REDSHIFT_HOST", "host", "host", "required"),
    variable("REDSHIFT_PORT", "port; default: 5439", "port"),
    variable("REDSHIFT_USER", "user", "text", "required"),
    variable("REDSHIFT_PASSWORD", "password", "text", "secret"),
    variable("REDSHIFT_DATABASE", "database", "text", "required"),
    variable("REDSHIFT_SSLMODE", "TLS; default: prefer", TLS_MODES),
  ],
  snowflake: [
    variable("SNOWFLAKE_ACCOUNT", "account identifier", "text", "required"),
    variable("SNOWFLAKE_USER", "user", "text", "required"),
    variable("SNOWFLAKE_PRIVATE_KEY", "private key of the user, PKCS#8 PEM without a passphrase", "text", "secret"),
    variable("SNOWFLAKE_TOKEN", "programmatic access token", "text", "secret"),
    variable("SNOWFLAKE_PASSWORD", "password", "text", "secret"),
    variable("SNOWFLAKE_WAREHOUSE", "warehouse", "text"),
    variable("SNOWFLAKE_DATABASE", "database", "text"),
    variable("SNOWFLAKE_SCHEMA", "schema", "text"),
    variable("SNOWFLAKE_ROLE", "role", "text"),
    variable("SNOWFLAKE_ENDPOINT_URL", "address in place of https://ACCOUNT.snowflakecomputing.com", "url"),
  ],
  spanner: [
    ...GOOGLE,
    variable("SPANNER_INSTANCE", "instance", "text", "required"),
    variable("SPANNER_DATABASE", "database", "text", "required"),
  ],
  trino: [
    variable("TRINO_HOST", "host", "host", "required"),
    variable("TRINO_PORT", "port; default: 443, or 8080 without TLS", "port"),
    variable("TRINO_USER", "user", "text", "required"),
    variable("TRINO_PASSWORD", "password", "text", "secret"),
    variable("TRINO_CATALOG", "catalog", "text"),
    variable("TRINO_SCHEMA", "schema", "text"),
    variable("TRINO_SECURE", "whether TLS is used; default: true", "boolean"),
  ],
} as const satisfies Readonly<Record<string, readonly IntegrationVariable[]>>;

/** A kind of integration. */
export type IntegrationKind = keyof typeof INTEGRATION_KINDS;

/** Names of all kinds. */
export const INTEGRATION_KIND_NAMES = Object.keys(INTEGRATION_KINDS) as readonly IntegrationKind[];

/** Values by variable. */
export type Variables = Readonly<Record<string, string>>;

/** Most bytes of all values of one integration. */
const MAX_INTEGRATION_BYTES = 40 * 1024;
const NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const HOST = /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])$/;

/** The beginning of the environment variables of an integration or source: `my-pg` -> `MY_PG`. */
export function environmentPrefix(name: string): string {
  return name.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
}

/** Whether a text names a kind. */
export function isIntegrationKind(kind: string): kind is IntegrationKind {
  return Object.hasOwn(INTEGRATION_KINDS, kind);
}

/**
 * What is wrong with an integration, as a sentence that names the variable and never a value;
 * undefined when nothing is.
 */
export function integrationProblem(name: string, kind: string, variables: Variables): string | undefined {
  if (!NAME.test(name))
    return "The name of an integration has letters, digits, '_' and '-', begins with a letter, and has at most 64 of them.";
  if (!isIntegrationKind(kind)) {
    const meant = didYouMean(kind, INTEGRATION_KIND_NAMES);
    return `'${kind.slice(0, 50)}' is no kind of integration; ${meant || `the kinds are ${INTEGRATION_KIND_NAMES.join(", ")}.`}`;
  }
  const known: readonly IntegrationVariable[] = INTEGRATION_KINDS[kind];
  for (const given of Object.keys(variables)) {
    if (known.some((one) => one.name === given)) continue;
    const names = known.map((one) => one.name);
    return `${given.slice(0, 130)} is no variable of ${kind}; ${didYouMean(given, names) || `its variables are ${names.join(", ")}.`}`;
  }
  for (const one of known) {
    const value = variables[one.name];
    if (value === undefined) {
      if (one.isRequired) return `${one.name} (${one.meaning}) is required for ${kind}.`;
      continue;
    }
    const problem = secretValueProblem(value) ?? formProblem(one.type, value);
    if (problem !== undefined) return `${one.name} ${problem}.`;
  }
  const bytes = Object.values(variables).reduce((sum, value) => sum + Buffer.byteLength(value), 0);
  return bytes > MAX_INTEGRATION_BYTES ? `The values take ${bytes} bytes, and ${MAX_INTEGRATION_BYTES} are the most.` : undefined;
}

/** What is wrong with the form of a value, as a phrase; undefined when nothing is. */
export function formProblem(type: VariableType, value: string): string | undefined {
  if (typeof type !== "string") return type.includes(value) ? undefined : `is none of ${type.join(", ")}`;
  switch (type) {
    case "text":
      return undefined;
    case "host":
      return HOST.test(value) ? undefined : "is no host name or address; it has no scheme, port or path";
    case "port":
      return isPort(value) ? undefined : "is no port number, 1 to 65535";
    case "boolean":
      return value === "true" || value === "false" ? undefined : "is neither true nor false";
    case "url":
      return isWebAddress(value) ? undefined : "is no http:// or https:// address, without user and password";
    case "brokers":
      return value.split(",").every(isBroker) ? undefined : "is no list of host:port, separated by commas";
    case "service-account":
      return isServiceAccount(value) ? undefined : "is no key of a service account: a JSON object with client_email and private_key";
  }
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

function isBroker(text: string): boolean {
  const at = text.lastIndexOf(":");
  return at > 0 && HOST.test(text.slice(0, at).trim()) && isPort(text.slice(at + 1).trim());
}

function isWebAddress(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "" && url.hash === "";
}

function isServiceAccount(text: string): boolean {
  try {
    const key = JSON.parse(text) as Record<string, unknown> | null;
    return typeof key?.client_email === "string" && typeof key.private_key === "string";
  } catch {
    return false;
  }
}

/**
 * The environment variables that resolvers are given for integrations: each with the integration's
 * name in front, and by its own name where only one integration has it.
 */
export function integrationEnvironment(
  integrations: readonly { readonly name: string; readonly variables: Variables }[],
): Record<string, string> {
  const environment: Record<string, string> = {};
  const holders = Map.groupBy(
    integrations.flatMap(({ variables }) => Object.entries(variables)),
    ([name]) => name,
  );
  for (const [name, [only, ...others]] of holders) if (only && others.length === 0) environment[name] = only[1];
  for (const { name, variables } of integrations)
    for (const [variable, value] of Object.entries(variables)) environment[`${environmentPrefix(name)}_${variable}`] = value;
  return environment;
}
