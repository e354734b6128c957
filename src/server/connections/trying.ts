/**
 * Tests of accounts, buckets and connections: real calls that leave nothing behind, bounded in
 * time. A failure has the reason of the network or of the other system, without secrets.
 */

import type { Clock } from "../../context/clock.ts";
import { CLOUD_ACCOUNT_KINDS, type CloudAccountKind } from "../../domain/cloud-account.ts";
import type { Setting, Settings } from "../../domain/kind-settings.ts";
import { CONNECTION_TYPES, type ConnectionType } from "../../domain/offline-connection.ts";
import { type Bucket, readBucket } from "../../domain/storage-config.ts";
import { awsProbe } from "../probes/aws.ts";
import { probeGlue } from "../probes/glue.ts";
import { bigqueryProbe, gcpProbe, type ServiceAccount } from "../probes/google.ts";
import { type Probe, type ProbeContext, type ProbeResult, untested } from "../probes/probe-result.ts";
import { type AwsAccess, probeGcs, probeS3 } from "../probes/storage.ts";
import { snowflakeProbe } from "../probes/warehouses.ts";
import { ProbeFailed } from "../probes/web-call.ts";
import type { OpenAccount } from "./cloud-accounts.ts";
import type { StorageConfigContent } from "./storage-configs.ts";
import { BUCKET_FIELDS } from "./storage-configs.ts";

/** One thing that was tried. */
export interface Check extends ProbeResult {
  readonly name: string;
}

/** What tests use. */
export interface TryContext {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Milliseconds that a test may take; default 10,000. */
  readonly limitMs?: number;
}

const LIMIT_MS = 10_000;
/** Shortest value that is hidden in messages: shorter ones are words of their own. */
const SHORTEST_HIDDEN = 6;

/** The settings as probes of integrations call them. */
const VARIABLES: Readonly<Record<CloudAccountKind | ConnectionType, Readonly<Record<string, string>>>> = {
  aws: {
    region: "AWS_REGION",
    access_key_id: "AWS_ACCESS_KEY_ID",
    secret_access_key: "AWS_SECRET_ACCESS_KEY",
    session_token: "AWS_SESSION_TOKEN",
    endpoint: "AWS_ENDPOINT_URL",
  },
  gcp: { service_account: "GOOGLE_CREDENTIALS", endpoint: "GOOGLE_ENDPOINT_URL" },
  snowflake: {
    account: "SNOWFLAKE_ACCOUNT",
    user: "SNOWFLAKE_USER",
    private_key: "SNOWFLAKE_PRIVATE_KEY",
    token: "SNOWFLAKE_TOKEN",
    password: "SNOWFLAKE_PASSWORD",
    database: "SNOWFLAKE_DATABASE",
    schema: "SNOWFLAKE_SCHEMA",
    warehouse: "SNOWFLAKE_WAREHOUSE",
    role: "SNOWFLAKE_ROLE",
    endpoint: "SNOWFLAKE_ENDPOINT_URL",
  },
  bigquery: {
    service_account: "GOOGLE_CREDENTIALS",
    project: "GOOGLE_PROJECT",
    location: "BIGQUERY_LOCATION",
    dataset: "BIGQUERY_DATASET",
    endpoint: "GOOGLE_ENDPOINT_URL",
  },
  iceberg: {},
};

type Work = (context: ProbeContext) => Promise<ProbeResult>;

/** Has the cloud say whose the credentials of an account are. */
export async function tryAccount({ kind, values }: Pick<OpenAccount, "kind" | "values">, context: TryContext): Promise<Check[]> {
  return tryAll({ credentials: byProbe(kind === "aws" ? awsProbe : gcpProbe, kind, values) }, CLOUD_ACCOUNT_KINDS[kind], values, context);
}

/**
 * Puts, gets and deletes an object in each bucket of a configuration. Without an account nothing is
 * called; `account` may be the reason why there is none.
 */
export async function tryStorage(config: StorageConfigContent, account: OpenAccount | string, context: TryContext): Promise<Check[]> {
  const work: Record<string, Work> = {};
  for (const [field, name] of Object.entries(BUCKET_FIELDS)) {
    const address = config[field as keyof typeof BUCKET_FIELDS];
    const bucket = readBucket(address);
    if (!bucket) continue;
    work[name] =
      typeof account === "string"
        ? async () => untested(account)
        : async (probing) => ok(address, await putGetDelete(bucket, account, probing));
  }
  if (Object.keys(work).length === 0) return [{ name: "buckets", ...untested("the configuration names no bucket") }];
  const values = typeof account === "string" ? {} : account.values;
  return tryAll(work, CLOUD_ACCOUNT_KINDS[config.kind], values, context);
}

/** Calls the store of a connection. */
export async function tryConnection(type: ConnectionType, values: Settings, context: TryContext): Promise<Check[]> {
  return tryAll(CONNECTION_WORK[type](values), CONNECTION_TYPES[type], values, context);
}

const CONNECTION_WORK: Readonly<Record<ConnectionType, (values: Settings) => Record<string, Work>>> = {
  snowflake: (values) => ({ statement: byProbe(snowflakeProbe, "snowflake", values) }),
  bigquery: (values) => ({ statement: byProbe(bigqueryProbe, "bigquery", values) }),
  iceberg: (values) => {
    const bucket = readBucket(values.warehouse ?? "");
    return {
      catalog: async (context) => ({ status: "ok", message: await probeGlue(values.catalog_id, awsAccess(values), context) }),
      warehouse: async (context) =>
        bucket ? ok(values.warehouse ?? "", await probeS3(bucket, awsAccess(values), context)) : untested("the warehouse is no bucket"),
    };
  },
};

const ok = (where: string, what: string): ProbeResult => ({ status: "ok", message: `${where}: ${what}` });

function awsAccess({ access_key_id = "", endpoint, region = "", secret_access_key = "", session_token }: Settings): AwsAccess {
  const keys = { accessKeyId: access_key_id, secretAccessKey: secret_access_key };
  return { keys: session_token === undefined ? keys : { ...keys, sessionToken: session_token }, region, endpoint };
}

function putGetDelete(bucket: Bucket, { kind, values }: OpenAccount, context: ProbeContext): Promise<string> {
  if (kind === "aws") return probeS3(bucket, awsAccess(values), context);
  const account = JSON.parse(values.service_account ?? "{}") as ServiceAccount;
  return probeGcs(bucket, { account, endpoint: values.endpoint }, context);
}

/** The probe of an integration with settings; its messages name settings instead of variables. */
function byProbe(probe: Probe, kind: CloudAccountKind | ConnectionType, values: Settings): Work {
  const names = Object.entries(VARIABLES[kind]);
  const variables = Object.fromEntries(
    names.flatMap(([setting, variable]) => (values[setting] === undefined ? [] : [[variable, values[setting]]])),
  );
  const inSettings = (message: string): string =>
    names.reduce((text, [setting, variable]) => text.replaceAll(new RegExp(`\\b${variable}\\b`, "g"), setting), message);
  return async (context) => {
    try {
      const { message, status } = await probe(variables, context);
      return { status, message: inSettings(message) };
    } catch (error) {
      throw error instanceof ProbeFailed ? new ProbeFailed(inSettings(error.message)) : error;
    }
  };
}

/** Does all work at once, in one time limit. */
async function tryAll(
  work: Readonly<Record<string, Work>>,
  table: readonly Setting[],
  values: Settings,
  { clock, limitMs = LIMIT_MS, signal }: TryContext,
): Promise<Check[]> {
  const over = AbortSignal.timeout(limitMs);
  const both = AbortSignal.any([signal, over]);
  const secrets = table.filter(({ isSecret }) => isSecret).map(({ name }) => values[name] ?? "");
  const hidden = (message: string): string =>
    secrets.filter(({ length }) => length >= SHORTEST_HIDDEN).reduce((text, secret) => text.replaceAll(secret, "***"), message);
  const attempt = async (one: Work): Promise<ProbeResult> => {
    try {
      return await one({ clock, signal: both });
    } catch (error) {
      if (error instanceof ProbeFailed) return { status: "failed", message: error.message };
      if (over.aborted) return { status: "failed", message: `nothing was answered within ${limitMs / 1000} s` };
      throw error;
    }
  };
  return Promise.all(
    Object.entries(work).map(async ([name, one]) => {
      const { message, status } = await attempt(one);
      return { name, status, message: hidden(message) };
    }),
  );
}
