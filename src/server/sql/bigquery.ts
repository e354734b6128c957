/** BigQuery as a source, read only, over its REST API. */

import { SourceKind } from "../../../gen/svc/v1/graph_pb.ts";
import type { FeatureValue } from "../../domain/value.ts";
import { jsonObject, plain } from "../web-answer.ts";
import type { ColumnType } from "./condition.ts";
import { isoInstant } from "./instant-text.ts";
import { refuseAllButQuery } from "./only-query.ts";
import { GOOGLE_TOKEN_ADDRESS, googleClaim, googleExchange, type ServiceAccount } from "./signed-claims.ts";
import { ParameterError, SqlError, type SqlFault } from "./source.ts";
import type { SourceDriver, SourceSettings } from "./source-driver.ts";
import { utf16Offset } from "./statement-text.ts";
import { MAX_ROWS_BYTES, STATEMENT_TIMEOUT_MS, type WebColumn, type WebRequest, type WebRows, WebSource } from "./web-source.ts";
import { boolOf, floatOf, instantOfMicros, integerOf, jsonValue } from "./web-values.ts";

const CLAIM_SECONDS = 3_600;
const RENEW_BEFORE_MS = 300_000;
/** Longest that one answer is waited for. */
const ANSWER_MS = 10_000;
/** Longest that the cancelling of a statement may take. */
const CANCEL_MS = 10_000;
const MAX_STATEMENTS = 1_000;

/** Where a project is, and who asks it. */
interface BigquerySettings {
  readonly url: URL;
  readonly tokenUrl: URL;
  readonly account: ServiceAccount;
  readonly project: string;
  readonly location: string | undefined;
  readonly dataset: string | undefined;
}

/** A column as the API describes it. */
interface Field {
  readonly name?: unknown;
  readonly type?: unknown;
  readonly mode?: unknown;
  readonly fields?: readonly Field[];
}

/** What a dry run says of a statement. */
interface Learned {
  readonly columns: readonly WebColumn[];
  /** Types of the parameters, as far as the statement tells them. */
  readonly parameters: readonly (string | undefined)[];
}

interface JobReference {
  readonly jobId: string;
  readonly location?: string;
}

/**
 * A BigQuery project. A statement is first tried dry, which costs nothing: its columns, the types
 * of its parameters, and whether it only reads are known by that.
 */
export class BigquerySource extends WebSource {
  readonly kind = SourceKind.BIGQUERY;
  readonly #settings: BigquerySettings;
  readonly #learned = new Map<string, Promise<Learned>>();
  #token: { readonly text: string; readonly until: number } | undefined;

  constructor(name: string, settings: BigquerySettings) {
    super(name, `BigQuery, project '${settings.project}', service account '${settings.account.client_email}'`, [
      settings.account.private_key,
    ]);
    this.#settings = settings;
  }

  quote(identifier: string): string {
    return `\`${identifier.replaceAll("\\", "\\\\").replaceAll("`", "\\`")}\``;
  }

  placeholder(_position: number, type?: "float"): string {
    return type === "float" ? "cast(? as float64)" : "?";
  }

  protected async run(statement: string, parameters: readonly FeatureValue[], signal: AbortSignal): Promise<WebRows> {
    const learned = await this.#learn(statement, signal);
    const { location } = this.#settings;
    const job: JobReference = { jobId: `svc_${crypto.randomUUID()}`, ...(location && { location }) };
    const onAbort = (): void => void this.#cancel(job);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const query = {
        ...this.#query(statement),
        queryParameters: parameters.map((value, at) => parameterOf(value, learned.parameters[at], at)),
      };
      const body = {
        jobReference: { projectId: this.#settings.project, ...job },
        configuration: { jobTimeoutMs: String(STATEMENT_TIMEOUT_MS), query },
      };
      const begun = await this.#ask("jobs", { method: "POST", body: JSON.stringify(body) }, statement, signal);
      const named = (begun.jobReference ?? {}) as Partial<JobReference>;
      return await this.#rows(typeof named.location === "string" ? { ...job, location: named.location } : job, statement, signal);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  protected async columns(statement: string, _parameters: number, signal: AbortSignal): Promise<readonly WebColumn[]> {
    this.#learned.delete(statement);
    return (await this.#learn(statement, signal)).columns;
  }

  async #rows({ jobId, location }: JobReference, statement: string, signal: AbortSignal): Promise<WebRows> {
    const rows: (readonly unknown[])[] = [];
    let room = MAX_ROWS_BYTES;
    let page: string | undefined;
    while (true) {
      const query = new URLSearchParams({ timeoutMs: String(ANSWER_MS), "formatOptions.useInt64Timestamp": "true" });
      if (location) query.set("location", location);
      if (page !== undefined) query.set("pageToken", page);
      const answer = await this.#ask(`queries/${encodeURIComponent(jobId)}?${query}`, { method: "GET" }, statement, signal, room);
      if (answer.jobComplete !== true) continue;
      const columns = fieldsOf(answer.schema).map(bigqueryColumn);
      const read = Array.isArray(answer.rows) ? (answer.rows as { readonly f?: readonly { readonly v?: unknown }[] }[]) : [];
      for (const { f = [] } of read) rows.push(f.map(({ v }) => v));
      room -= answer.bytes;
      if (typeof answer.pageToken !== "string" || answer.pageToken === "") return { columns, rows };
      page = answer.pageToken;
    }
  }

  #query(statement: string) {
    const { project, dataset } = this.#settings;
    return {
      query: statement,
      useLegacySql: false,
      parameterMode: "POSITIONAL",
      ...(dataset && { defaultDataset: { projectId: project, datasetId: dataset } }),
    };
  }

  #learn(statement: string, signal: AbortSignal): Promise<Learned> {
    const known = this.#learned.get(statement);
    if (known) return known;
    const learning = this.#dryRun(statement, signal);
    this.#learned.set(statement, learning);
    if (this.#learned.size > MAX_STATEMENTS) this.#learned.delete(this.#learned.keys().next().value as string);
    learning.catch(() => this.#learned.get(statement) === learning && this.#learned.delete(statement));
    return learning;
  }

  async #dryRun(statement: string, signal: AbortSignal): Promise<Learned> {
    refuseAllButQuery(statement, this.dialect);
    const { location, project } = this.#settings;
    const body = {
      configuration: { dryRun: true, query: this.#query(statement) },
      ...(location && { jobReference: { projectId: project, location } }),
    };
    const { statistics } = await this.#ask("jobs", { method: "POST", body: JSON.stringify(body) }, statement, signal);
    const found = ((statistics as { readonly query?: unknown } | undefined)?.query ?? {}) as {
      readonly schema?: unknown;
      readonly statementType?: unknown;
      readonly undeclaredQueryParameters?: readonly { readonly parameterType?: { readonly type?: unknown } }[];
    };
    if (found.statementType !== undefined && found.statementType !== "SELECT")
      throw new SqlError(`a source is only read, and the statement is ${plain(String(found.statementType))}`);
    return {
      columns: fieldsOf(found.schema).map(bigqueryColumn),
      parameters: (found.undeclaredQueryParameters ?? []).map(({ parameterType }) => parameterType?.type as string | undefined),
    };
  }

  async #cancel({ jobId, location }: JobReference): Promise<void> {
    const path = `jobs/${encodeURIComponent(jobId)}/cancel${location ? `?location=${encodeURIComponent(location)}` : ""}`;
    await this.#ask(path, { method: "POST" }, "", AbortSignal.timeout(CANCEL_MS)).catch(() => undefined);
  }

  async #ask(path: string, request: WebRequest, statement: string, signal: AbortSignal, room?: number): Promise<Answer> {
    const { url, project } = this.#settings;
    const headers = {
      authorization: `Bearer ${await this.#accessToken(signal)}`,
      ...(request.body !== undefined && { "content-type": "application/json" }),
    };
    const target = new URL(`/bigquery/v2/projects/${encodeURIComponent(project)}/${path}`, url);
    const { status, text } = await this.callPatiently(target, { ...request, headers }, signal, room);
    const answer = jsonObject(text);
    const error = (answer?.error ?? (answer?.status as { errorResult?: unknown } | undefined)?.errorResult) as ApiError | undefined;
    // The job is there: its request was sent twice.
    if (status === 409 && request.method === "POST") return { bytes: 0 };
    if (status !== 200 || error) throw this.#refusal(status, error, statement);
    if (!answer) throw this.failure("it answered something else than JSON");
    return { ...answer, bytes: text.length };
  }

  async #accessToken(signal: AbortSignal): Promise<string> {
    if (this.#token && this.#token.until > Date.now()) return this.#token.text;
    const { account, tokenUrl } = this.#settings;
    const claim = await googleClaim(account, Math.floor(Date.now() / 1000), CLAIM_SECONDS).catch(() => {
      throw this.failure("GOOGLE_CREDENTIALS has a private_key that is no RSA key in PEM");
    });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const { status, text } = await this.callPatiently(tokenUrl, { method: "POST", headers, body: googleExchange(claim) }, signal);
    const answer = jsonObject(text);
    if (status !== 200 || typeof answer?.access_token !== "string") {
      const words = typeof answer?.error_description === "string" ? answer.error_description : answer?.error;
      throw this.failure(`${tokenUrl.host} gave no access token: ${plain(String(words ?? status))}`);
    }
    const seconds = typeof answer.expires_in === "number" ? answer.expires_in : CLAIM_SECONDS;
    this.#token = { text: answer.access_token, until: Date.now() + seconds * 1000 - RENEW_BEFORE_MS };
    return answer.access_token;
  }

  #refusal(status: number, error: ApiError | undefined, statement: string): SqlError {
    const words = this.withoutSecrets(plain(typeof error?.message === "string" ? error.message : String(status)));
    const reason = String(error?.reason ?? error?.errors?.[0]?.reason ?? "");
    if (reason !== "invalidQuery" && reason !== "notFound") return this.failure(words);
    const [, line, column] = /at \[(\d+):(\d+)\]/.exec(words) ?? [];
    const fault: SqlFault = /^(?:Bad \w+ value|Division by zero|division by zero|\w+ overflow|Could not cast)/.test(words)
      ? "data"
      : "statement";
    return new SqlError(words, line === undefined ? undefined : placeOf(statement, Number(line), Number(column)), fault);
  }
}

/** An answer of the API, with its size. */
type Answer = Readonly<Record<string, unknown>> & { readonly bytes: number };

interface ApiError {
  readonly message?: unknown;
  readonly reason?: unknown;
  readonly errors?: readonly { readonly reason?: unknown }[];
}

/** The offset of a line and a column, both from 1. */
function placeOf(statement: string, line: number, column: number): number | undefined {
  const lines = statement.split("\n");
  const text = lines[line - 1];
  const within = text === undefined ? undefined : utf16Offset(text, column - 1);
  return within === undefined ? undefined : lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, within);
}

/**
 * A value as a parameter: of the type that the statement tells, else of that which the value is.
 */
function parameterOf(value: FeatureValue, told: string | undefined, position: number): object {
  const of = (type: string, text: string | null) => ({
    parameterType: { type: told ?? type },
    parameterValue: text === null ? {} : { value: text },
  });
  switch (typeof value) {
    case "boolean":
      return of("BOOL", String(value));
    case "bigint":
      return of("INT64", String(value));
    case "number":
      if (Number.isFinite(value)) return of(Number.isSafeInteger(value) ? "INT64" : "FLOAT64", String(value));
      return of("FLOAT64", Number.isNaN(value) ? "NaN" : value > 0 ? "+inf" : "-inf");
    case "string":
      return of("STRING", value);
    default:
      if (value === null) return of("STRING", null);
      if (value instanceof Uint8Array) return of("BYTES", Buffer.from(value).toString("base64"));
      throw new ParameterError(position, "is no single value, and statements of BigQuery are given none but those");
  }
}

function fieldsOf(schema: unknown): readonly Field[] {
  const { fields } = (schema ?? {}) as { readonly fields?: unknown };
  return Array.isArray(fields) ? (fields as Field[]) : [];
}

function bigqueryColumn(field: Field): WebColumn {
  const type = String(field.type).toLowerCase();
  const isList = field.mode === "REPEATED";
  return {
    name: String(field.name),
    type: { name: isList ? `${type}[]` : type },
    comparable: isList ? undefined : COMPARABLE[type],
    read: reader(field),
  };
}

function reader(field: Field): (value: unknown) => unknown {
  const one = field.fields ? recordReader(field.fields) : READERS[String(field.type).toLowerCase()];
  const read = (value: unknown) => (value === null || value === undefined ? null : one ? one(value) : value);
  if (field.mode !== "REPEATED") return read;
  return (value) => (Array.isArray(value) ? value.map((item: { readonly v?: unknown }) => read(item.v)) : value);
}

function recordReader(fields: readonly Field[]): (value: unknown) => unknown {
  const readers = fields.map((field) => [String(field.name), reader(field)] as const);
  return (value) => {
    const { f = [] } = value as { readonly f?: readonly { readonly v?: unknown }[] };
    return Object.fromEntries(readers.map(([name, read], at) => [name, read(f[at]?.v)]));
  };
}

const COMPARABLE: Readonly<Record<string, ColumnType>> = {
  integer: "int",
  int64: "int",
  float: "float",
  float64: "float",
  numeric: "decimal",
  bignumeric: "decimal",
  boolean: "bool",
  bool: "bool",
  string: "text",
  date: "date",
  datetime: "timestamp",
  timestamp: "timestamptz",
};

const READERS: Readonly<Record<string, (value: unknown) => unknown>> = {
  integer: integerOf,
  int64: integerOf,
  float: floatOf,
  float64: floatOf,
  boolean: boolOf,
  bool: boolOf,
  timestamp: instantOfMicros,
  datetime: (value) => (typeof value === "string" ? isoInstant(value) : value),
  bytes: (value) => (typeof value === "string" ? new Uint8Array(Buffer.from(value, "base64")) : value),
  json: jsonValue,
};

function readSettings({ name, prefix, read }: SourceSettings): BigquerySettings {
  const given = read("GOOGLE_CREDENTIALS", "credentials");
  if (!given)
    throw new SqlError(`source '${name}' has no credentials: set ${prefix}_GOOGLE_CREDENTIALS to the key of a service account, as JSON`);
  const account = jsonObject(given) as ServiceAccount | undefined;
  if (typeof account?.client_email !== "string" || typeof account.private_key !== "string")
    throw new SqlError(
      `source '${name}': ${prefix}_GOOGLE_CREDENTIALS is no key of a service account: a JSON object with client_email and private_key`,
    );
  const project = read("GOOGLE_PROJECT", "project") ?? account.project_id;
  if (!project) throw new SqlError(`source '${name}' has no project: give \`project=\` in code or set ${prefix}_GOOGLE_PROJECT`);
  const own = read("GOOGLE_ENDPOINT_URL", "endpoint_url");
  const url = URL.parse(own ?? "https://bigquery.googleapis.com");
  if (!url) throw new SqlError(`source '${name}': ${prefix}_GOOGLE_ENDPOINT_URL is no address`);
  return {
    url,
    tokenUrl: own === undefined ? new URL(GOOGLE_TOKEN_ADDRESS) : new URL("/token", url),
    account,
    project,
    location: read("BIGQUERY_LOCATION", "location"),
    dataset: read("BIGQUERY_DATASET", "dataset"),
  };
}

/** The driver of BigQuery, configured by `<NAME>_GOOGLE_CREDENTIALS` and so on, or in code. */
export const bigqueryDriver: SourceDriver = {
  kind: SourceKind.BIGQUERY,
  names: ["bigquery"],
  variable: "GOOGLE_CREDENTIALS",
  open: (settings) => new BigquerySource(settings.name, readSettings(settings)),
};
