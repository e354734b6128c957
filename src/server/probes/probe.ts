/** Tests of integrations: one call of the system that each reaches, which changes nothing. */

import type { Clock } from "../../context/clock.ts";
import { INTEGRATION_KINDS, type IntegrationKind, type Variables } from "../../domain/integrations.ts";
import { SqlError } from "../sql/source.ts";
import { TopicError } from "../topics/topics.ts";
import { athenaProbe, awsProbe, dynamodbProbe, kinesisProbe } from "./aws.ts";
import { mysqlProbe, postgresqlProbe, redshiftProbe } from "./databases.ts";
import { bigqueryProbe, gcpProbe, pubsubProbe, spannerProbe } from "./google.ts";
import { kafkaProbe } from "./kafka.ts";
import { cohereProbe, openaiProbe } from "./models.ts";
import type { Probe, ProbeResult } from "./probe-result.ts";
import { clickhouseProbe, databricksProbe, snowflakeProbe, trinoProbe } from "./warehouses.ts";
import { ProbeFailed } from "./web-call.ts";

const PROBES: Readonly<Record<IntegrationKind, Probe>> = {
  athena: athenaProbe,
  aws: awsProbe,
  bigquery: bigqueryProbe,
  clickhouse: clickhouseProbe,
  cohere: cohereProbe,
  databricks: databricksProbe,
  dynamodb: dynamodbProbe,
  gcp: gcpProbe,
  kafka: kafkaProbe,
  kinesis: kinesisProbe,
  mysql: mysqlProbe,
  openai: openaiProbe,
  postgresql: postgresqlProbe,
  pubsub: pubsubProbe,
  redshift: redshiftProbe,
  snowflake: snowflakeProbe,
  spanner: spannerProbe,
  trino: trinoProbe,
};

/** Milliseconds that a test may take. */
const LIMIT_MS = 10_000;
/** Shortest value that is hidden in messages: shorter ones are words of their own. */
const SHORTEST_HIDDEN = 6;

/**
 * Tests an integration. A failure has the reason of the network or of the other system, in which
 * the values of secret variables are hidden.
 */
export async function probe(
  kind: IntegrationKind,
  variables: Variables,
  { clock, limitMs = LIMIT_MS, signal }: { readonly clock: Clock; readonly signal: AbortSignal; readonly limitMs?: number },
): Promise<ProbeResult> {
  const over = AbortSignal.timeout(limitMs);
  try {
    return await PROBES[kind](variables, { clock, signal: AbortSignal.any([signal, over]) });
  } catch (error) {
    if (over.aborted) return { status: "failed", message: `nothing was answered within ${limitMs / 1000} s` };
    if (signal.aborted) throw signal.reason;
    if (!(error instanceof ProbeFailed || error instanceof SqlError || error instanceof TopicError)) throw error;
    return { status: "failed", message: hidden(error.message, kind, variables) };
  }
}

function hidden(message: string, kind: IntegrationKind, variables: Variables): string {
  const secrets = INTEGRATION_KINDS[kind].filter(({ isSecret }) => isSecret).map(({ name }) => variables[name] ?? "");
  return secrets.filter(({ length }) => length >= SHORTEST_HIDDEN).reduce((text, secret) => text.replaceAll(secret, "***"), message);
}
