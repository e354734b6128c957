/** The types of connections to offline stores. */

import { type KindSettings, kindProblem, type Settings, setting, settingsProblem } from "./kind-settings.ts";

/** The settings of the types of connections. */
export const CONNECTION_TYPES = {
  snowflake: [
    setting("account", "account identifier", "identifier", "required"),
    setting("user", "user", "text", "required"),
    setting("private_key", "private key of the user", "pem", "secret"),
    setting("token", "programmatic access token", "text", "secret"),
    setting("password", "password", "text", "secret"),
    setting("database", "database", "text", "required"),
    setting("schema", "schema", "text"),
    setting("warehouse", "warehouse that runs statements", "text"),
    setting("role", "role", "text"),
    setting("endpoint", "address in place of https://ACCOUNT.snowflakecomputing.com", "url"),
  ],
  bigquery: [
    setting("service_account", "key of a service account, as JSON", "service-account", "required", "secret"),
    setting("project", "project; default: that of the service account", "identifier"),
    setting("dataset", "dataset", "identifier", "required"),
    setting("location", "location of the dataset", "identifier"),
    setting("endpoint", "address in place of Google's own", "url"),
  ],
  iceberg: [
    setting("warehouse", "where tables are kept, s3://BUCKET[/PREFIX]", "s3", "required"),
    setting("region", "region of the bucket and of the Glue catalog", "region", "required"),
    setting("access_key_id", "access key id", "identifier", "required"),
    setting("secret_access_key", "secret access key", "text", "required", "secret"),
    setting("session_token", "session token of temporary keys", "text", "secret"),
    setting("catalog_id", "id of the Glue catalog; default: that of the keys' account", "identifier"),
    setting("endpoint", "address in place of AWS's own, for Glue and S3", "url"),
  ],
} as const satisfies KindSettings;

/** A type of connection. */
export type ConnectionType = keyof typeof CONNECTION_TYPES;

function isConnectionType(type: string): type is ConnectionType {
  return Object.hasOwn(CONNECTION_TYPES, type);
}

/**
 * What is wrong with a connection, as a sentence that never has a value; undefined when nothing is.
 */
export function connectionProblem(type: string, settings: Settings): string | undefined {
  if (!isConnectionType(type)) return kindProblem("type of connection", Object.keys(CONNECTION_TYPES), type);
  const problem = settingsProblem(CONNECTION_TYPES[type], type, settings);
  if (problem !== undefined || type !== "snowflake") return problem;
  const ways = ["private_key", "token", "password"];
  return ways.some((way) => settings[way] !== undefined) ? undefined : `One of the settings ${ways.join(", ")} is required for snowflake.`;
}
