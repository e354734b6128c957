/** The client: queries, uploads, runs of resolvers and offline queries from TypeScript. */

import { type Dataset, type DatasetFile, datasetOf, filesOf, isFile } from "./dataset.ts";
import { type ErrorDetail, QueryError, UnexpectedAnswer, WorkFailed } from "./errors.ts";
import { type CallOptions, type Fetch, pause, Session, serverAddress } from "./session.ts";
import { fromJson, type Integers, toJson, type ValueType } from "./values.ts";

/** Types of features by name, where none are given: any feature, and any value. */
// biome-ignore lint/suspicious/noExplicitAny: values of features that nobody has told the types of
export type AnyFeatures = Record<string, any>;

/** A value that is given for a feature: of its type, or what is sent as such a value. */
export type Given<T> = T | (T extends string ? Date | Uint8Array : never) | (T extends number ? bigint : never) | null;

/** The names of features. */
export type FeatureName<F> = keyof F & string;

/** The settings of a client. */
export interface SvcClientOptions {
  /** Address of the server; else the environment variable `SVC_API_SERVER`. */
  readonly apiServer?: string;
  /** Else `SVC_CLIENT_ID`; not for browsers. */
  readonly clientId?: string;
  /** Else `SVC_CLIENT_SECRET`; not for browsers. */
  readonly clientSecret?: string;
  /**
   * Gives the token of each call, instead of an ID and a secret: in browsers, from the page's own
   * server. It is asked again with `refused` when the server does not take a token any more.
   */
  readonly token?: (refused: string | undefined) => string | Promise<string>;
  /** Else `SVC_ENVIRONMENT`, else the environment of the credentials. */
  readonly environment?: string;
  /** A branch deployment to query. */
  readonly branch?: string;
  /** One deployment to query. */
  readonly deploymentId?: string;
  /** Milliseconds that a call may take, with everything that it does; default 60000. */
  readonly timeoutMs?: number;
  /**
   * How often a request is sent again when the connection broke or the server had too much to do,
   * in that time and only where it cannot have an effect twice; default 3. All retries of a client
   * together are never more than a small share of its requests.
   */
  readonly maxRetries?: number;
  /** `auto` (the default): numbers, and bigints beyond 2^53. `bigint`: bigints alone. */
  readonly integers?: Integers;
  /** Default: the global `fetch`. */
  readonly fetch?: Fetch;
}

/** A time: a Date, or an RFC 3339 text. */
export type Time = Date | string;

/** What queries of one row and of many have in common. */
export interface QueryOptions<F, O extends FeatureName<F>> extends CallOptions {
  /**
   * Features, or names of feature classes; without any, what the named query says, or the class of
   * the input.
   */
  readonly outputs?: readonly O[];
  /** How old a stored value may be, by feature: `1h`. */
  readonly staleness?: { readonly [K in FeatureName<F>]?: string };
  readonly tags?: readonly string[];
  /** What resolvers read as the query's context. */
  readonly queryContext?: Readonly<Record<string, unknown>>;
  /** A query that is stored with the code; without a version, its latest. */
  readonly queryName?: string;
  readonly queryNameVersion?: string;
  readonly correlationId?: string;
  readonly plannerOptions?: Readonly<Record<string, string | number | boolean>>;
  /** `meta.explainOutput` has the plan. */
  readonly explain?: boolean;
  /** Spans are kept, under `meta.traceId`. */
  readonly trace?: boolean;
  readonly storePlanStages?: boolean;
}

/** A query for one row. */
export interface QueryRequest<F, O extends FeatureName<F>> extends QueryOptions<F, O> {
  readonly inputs?: { readonly [K in FeatureName<F>]?: Given<F[K]> };
  /** The time to answer as of. */
  readonly now?: Time;
  /** `features` says where each value came from. */
  readonly includeMeta?: boolean;
}

/** One of several queries for one row each, which go together and have their call's options. */
export type MultiQuery<F, O extends FeatureName<F>> = Omit<QueryRequest<F, O>, keyof CallOptions>;

/** A query for many rows. */
export interface BulkQueryRequest<F, O extends FeatureName<F>> extends QueryOptions<F, O> {
  /**
   * A list of values per feature, all of one length, or of length 1, which then stands for every
   * row.
   */
  readonly inputs: { readonly [K in FeatureName<F>]?: readonly Given<F[K]>[] };
  /** One time for all rows, or one for each. */
  readonly now?: Time | readonly Time[];
}

/** Metadata of an answered query. */
export interface QueryMeta {
  readonly queryId: string;
  readonly deploymentId: string;
  readonly environmentId: string;
  readonly environmentName: string;
  readonly queryHash: string;
  /** RFC 3339. */
  readonly queryTimestamp: string;
  readonly executionDurationS: number;
  /** The type of each output by name. */
  readonly types: Readonly<Record<string, ValueType>>;
  readonly inferredOutputs: readonly string[];
  readonly warnings: readonly string[];
  readonly explainOutput?: string;
  readonly traceId?: string;
  readonly planStages: number;
}

/** One feature of an answer. */
export interface FeatureResult {
  readonly feature: string;
  /** null when `error` says why there is none. */
  readonly value: unknown;
  /** The primary key of its row. */
  readonly key: unknown;
  /** When it was observed, RFC 3339. */
  readonly observedAt: string;
  readonly error?: ErrorDetail;
  readonly meta?: { readonly resolver: string; readonly cacheHit: boolean; readonly type: string; readonly version: number };
}

/** The answer to a query for one row. */
export interface QueryResult<F, O extends FeatureName<F>> {
  /** The values by name; null for what failed or is absent. */
  readonly data: { readonly [K in O]: F[K] | null };
  /** Each output with what is known of it, in order. */
  readonly features: readonly FeatureResult[];
  /** The failures; the other outputs have values all the same. */
  readonly errors: readonly ErrorDetail[];
  readonly meta: QueryMeta;
}

/** The answer to a query for many rows. */
export interface BulkQueryResult<F, O extends FeatureName<F>> {
  /** A column of values by name, all of one length; null for what failed or is absent. */
  readonly data: { readonly [K in O]: readonly (F[K] | null)[] };
  /** The failures, each with its row. */
  readonly errors: readonly ErrorDetail[];
  readonly meta: QueryMeta;
}

/** Values that are to be stored. */
export interface UploadRequest<F> extends CallOptions {
  /** A list of values per feature, one per row; of each class the primary key too. */
  readonly columns: { readonly [K in FeatureName<F>]?: readonly Given<F[K]>[] };
  /** When the rows were observed; default: the class's feature time, or now. */
  readonly time?: Time;
  readonly timeColumn?: string;
  readonly knownAt?: Time;
  readonly knownAtColumn?: string;
  readonly target?: "both" | "online" | "offline";
  /** Everything is checked, and nothing stored. */
  readonly dryRun?: boolean;
}

/** What an upload stored. */
export interface UploadResult {
  readonly rows: number;
  readonly onlineValues: number;
  readonly offlineValues: number;
  readonly deletedValues: number;
  /** The request for approval that waits before anything is stored. */
  readonly approvalId?: string;
}

/** A run of a resolver that is asked for. */
export interface ResolverRunRequest extends CallOptions {
  readonly lowerBound?: Time;
  readonly upperBound?: Time;
  /** The same key in an environment is the same run; without it, each call is a run. */
  readonly idempotencyKey?: string;
  readonly storeOnline?: boolean;
  readonly storeOffline?: boolean;
}

/** A run of a resolver, as the server last said. */
export interface ResolverRun {
  readonly id: string;
  readonly resolver: string;
  readonly status: "received" | "running" | "succeeded" | "failed";
  readonly rows: number;
  readonly failedRows: number;
  readonly error: string;
}

/** An offline query: the values of features for many rows, each as of a time of its own. */
export interface OfflineQueryRequest<F> extends CallOptions {
  readonly inputs?: { readonly [K in FeatureName<F>]?: readonly Given<F[K]>[] };
  readonly inputTimes?: Time | readonly Time[];
  readonly outputs?: readonly FeatureName<F>[];
  readonly requiredOutputs?: readonly FeatureName<F>[];
  /** true has resolvers compute all outputs, a list has them compute these. */
  readonly recompute?: boolean | readonly FeatureName<F>[];
  readonly datasetName?: string;
  readonly spineSql?: string;
  readonly lowerBound?: Time;
  readonly upperBound?: Time;
  readonly maxSamples?: number;
  readonly asKnown?: boolean;
  readonly numShards?: number;
  readonly storeOnline?: boolean;
  readonly storeOffline?: boolean;
  readonly tags?: readonly string[];
}

/** An offline query, as the server last said. */
export interface OfflineQuery {
  readonly id: string;
  readonly status: "queued" | "working" | "completed" | "failed" | "canceled";
  readonly datasetId: string;
  readonly revisionId: string;
  readonly totalRows: number;
  readonly doneRows: number;
  readonly failedRows: number;
  readonly error: string;
}

type Json = Readonly<Record<string, unknown>>;

const DEFAULT_TIMEOUT_MS = 60_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;

/**
 * A client of a server. Connections are those of `fetch`, which keeps and uses them again; the
 * token is kept, and exchanged once for all calls. `F` is the type of features by name, which `svc
 * codegen typescript` writes: `new SvcClient<FeaturesType>()`.
 */
export class SvcClient<F extends object = AnyFeatures> {
  readonly #session: Session;
  readonly #deploymentId: string | undefined;
  readonly #integers: Integers;

  /**
   * Nothing is sent before the first call. Throws a TypeError for settings that are missing or make
   * no sense.
   */
  constructor(options: SvcClientOptions = {}) {
    const variables = environmentVariables();
    const { token, timeoutMs = DEFAULT_TIMEOUT_MS, maxRetries = 3 } = options;
    const apiServer = options.apiServer ?? variables.SVC_API_SERVER;
    const clientId = options.clientId ?? variables.SVC_CLIENT_ID;
    const clientSecret = options.clientSecret ?? variables.SVC_CLIENT_SECRET;
    if (!apiServer) throw new TypeError("SvcClient has no apiServer: pass it, or set SVC_API_SERVER");
    if (!token && !(clientId && clientSecret))
      throw new TypeError(
        "SvcClient has no credentials: pass clientId and clientSecret, or set SVC_CLIENT_ID and SVC_CLIENT_SECRET; in a browser pass token",
      );
    if (!(timeoutMs > 0)) throw new TypeError(`timeoutMs is a number of milliseconds above zero, not ${timeoutMs}`);
    if (!Number.isInteger(maxRetries) || maxRetries < 0) throw new TypeError(`maxRetries is a number from 0 on, not ${maxRetries}`);
    const ownFetch = options.fetch;
    this.#deploymentId = options.deploymentId;
    this.#integers = options.integers ?? "auto";
    this.#session = new Session({
      ...{ apiServer: serverAddress(apiServer), token, clientId, clientSecret, timeoutMs, maxRetries },
      environment: options.environment ?? variables.SVC_ENVIRONMENT,
      branch: options.branch,
      // Browsers call their fetch as a method of the window alone.
      fetch: ownFetch ?? ((url, init) => globalThis.fetch(url, init)),
    });
  }

  /**
   * Computes or serves features for one row: `query({ inputs: { "user.id": 1 }, outputs:
   * ["user.name"] })`. Rejects with a QueryError when the query is refused; what fails while it
   * runs is in `errors`.
   */
  async query<O extends FeatureName<F>>(request: QueryRequest<F, O>): Promise<QueryResult<F, O>> {
    return this.#resultOf(await this.#post("/v1/query/online", this.#oneRow(request), request));
  }

  /**
   * Asks several queries in one request, which may be of different classes. Gives what each came
   * to, in their order: the result that `query` would give, or the QueryError that it would reject
   * with. Rejects when they are refused together, as more than 100 are.
   */
  async queryMulti<const O extends readonly FeatureName<F>[]>(
    queries: { readonly [At in keyof O]: MultiQuery<F, O[At]> },
    options: CallOptions = {},
  ): Promise<{ -readonly [At in keyof O]: QueryResult<F, O[At]> | QueryError }> {
    const asked = queries as readonly MultiQuery<F, FeatureName<F>>[];
    const said = await this.#post("/v1/query/multi", { queries: asked.map((query) => this.#oneRow(query)) }, options);
    const outcomes = (said.outcomes ?? []) as readonly Json[];
    if (outcomes.length !== asked.length)
      throw new UnexpectedAnswer(`the server answered ${asked.length} queries with ${outcomes.length} outcomes`, 200);
    const read = outcomes.map((outcome) => ("code" in outcome ? new QueryError(errorsOf(outcome), 400) : this.#resultOf(outcome)));
    return read as { -readonly [At in keyof O]: QueryResult<F, O[At]> | QueryError };
  }

  /**
   * Computes or serves features for many rows at once: `queryBulk({ inputs: { "user.id": [1, 2] },
   * outputs: ["user.name"] })`. Rejects as `query` does.
   */
  async queryBulk<O extends FeatureName<F>>(request: BulkQueryRequest<F, O>): Promise<BulkQueryResult<F, O>> {
    const answer = await this.#post("/v1/query/bulk", this.#manyRows(request), request);
    const meta = metaOf(answer.meta);
    const columns = Object.entries((answer.data ?? {}) as Record<string, readonly unknown[]>).map(([name, values]) => [
      name,
      values.map((value) => fromJson(value, meta.types[name], this.#integers)),
    ]);
    return { data: Object.fromEntries(columns) as BulkQueryResult<F, O>["data"], errors: errorsOf(answer), meta };
  }

  /**
   * Asks for many rows as a table of Arrow: the bytes of a stream of its IPC format, whose columns
   * are the inputs, and whose schema has the rest of the query under `svc.query`, as `arrowQuery`
   * writes it. Gives the bytes of such a stream, with a column for each output; `arrowFacts` reads
   * what its schema says beside them. Rejects as `query` does.
   */
  async queryBulkArrow(table: Uint8Array<ArrayBuffer>, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    const { environment, signal, timeoutMs } = options;
    return this.#session.table({ method: "POST", path: "/v1/query/bulk", table, environment, signal, timeoutMs });
  }

  /**
   * A query without its inputs, as the schema of a table that is asked with `queryBulkArrow` has
   * it: `schema.metadata.set("svc.query", client.arrowQuery({ outputs: ["user.name"] }))`.
   */
  arrowQuery<O extends FeatureName<F>>(query: Omit<BulkQueryRequest<F, O>, "inputs" | keyof CallOptions>): string {
    const { inputs: _, ...rest } = this.#manyRows({ ...query, inputs: {} });
    return toJson(rest);
  }

  /**
   * Stores values of features as they were observed elsewhere. Rejects with a QueryError with what
   * is wrong; then nothing is stored.
   */
  async uploadFeatures(request: UploadRequest<F>): Promise<UploadResult> {
    const { columns, dryRun, knownAt, knownAtColumn, target, time, timeColumn } = request;
    const body = {
      columns,
      target,
      time: timeText(time),
      time_column: timeColumn,
      known_at: timeText(knownAt),
      known_at_column: knownAtColumn,
      dry_run: dryRun,
    };
    const said = await this.#post("/v1/features/upload", body, request, dryRun === true);
    return {
      rows: Number(said.rows),
      onlineValues: Number(said.online_values),
      offlineValues: Number(said.offline_values),
      deletedValues: Number(said.deleted_values),
      ...(said.approval_id ? { approvalId: String(said.approval_id) } : {}),
    };
  }

  /** Asks for one run of a resolver, which computes its features for all rows that it is for. */
  async triggerResolverRun(resolver: string, request: ResolverRunRequest = {}): Promise<ResolverRun> {
    const { idempotencyKey, lowerBound, storeOffline, storeOnline, upperBound } = request;
    const body = {
      resolver,
      lower_bound: timeText(lowerBound),
      upper_bound: timeText(upperBound),
      // A call that is sent again is still one run.
      idempotency_key: idempotencyKey ?? crypto.randomUUID(),
      persist_online: storeOnline,
      persist_offline: storeOffline,
      deployment_id: this.#deploymentId,
    };
    return runOf(await this.#post("/v1/runs", body, request));
  }

  /** A run by its id. */
  async getResolverRun(id: string, options: CallOptions = {}): Promise<ResolverRun> {
    return runOf(await this.#get(`/v1/runs/${encodeURIComponent(id)}`, options));
  }

  /**
   * Waits for the end of a run; `timeoutMs` is for each time that the server is asked. Rejects with
   * WorkFailed when it failed.
   */
  async waitForResolverRun(id: string, options: CallOptions = {}): Promise<ResolverRun> {
    const run = await this.#wait(
      () => this.getResolverRun(id, options),
      ({ status }) => status === "received" || status === "running",
      options.signal,
    );
    if (run.status === "failed") throw new WorkFailed(`the run ${id} of ${run.resolver} failed: ${run.error}`, id, run.status);
    return run;
  }

  /** Begins an offline query, which the server goes on with by itself. */
  async beginOfflineQuery(request: OfflineQueryRequest<F>): Promise<OfflineQuery> {
    const { inputTimes, recompute } = request;
    const body = {
      inputs: request.inputs,
      input_times:
        inputTimes === undefined
          ? undefined
          : (typeof inputTimes === "string" || inputTimes instanceof Date ? [inputTimes] : inputTimes).map(timeText),
      outputs: request.outputs,
      required_outputs: request.requiredOutputs,
      recompute: recompute === true ? true : undefined,
      recompute_features: typeof recompute === "object" ? recompute : undefined,
      dataset_name: request.datasetName,
      spine_sql: request.spineSql,
      lower_bound: timeText(request.lowerBound),
      upper_bound: timeText(request.upperBound),
      max_samples: request.maxSamples,
      as_known: request.asKnown,
      num_shards: request.numShards,
      store_online: request.storeOnline,
      store_offline: request.storeOffline,
      tags: request.tags,
      deployment_id: this.#deploymentId,
    };
    return offlineQueryOf(await this.#post("/v1/offline-queries", body, request, false));
  }

  /** An offline query by its id. */
  async getOfflineQuery(id: string, options: CallOptions = {}): Promise<OfflineQuery> {
    return offlineQueryOf(await this.#get(`/v1/offline-queries/${encodeURIComponent(id)}`, options));
  }

  /**
   * Waits for the end of an offline query; `timeoutMs` is for each time that the server is asked.
   * Rejects with WorkFailed when it failed or was cancelled.
   */
  async waitForOfflineQuery(id: string, options: CallOptions = {}): Promise<OfflineQuery> {
    const query = await this.#wait(
      () => this.getOfflineQuery(id, options),
      ({ status }) => status === "queued" || status === "working",
      options.signal,
    );
    if (query.status !== "completed") throw new WorkFailed(`the offline query ${id} is ${query.status}: ${query.error}`, id, query.status);
    return query;
  }

  /** The rows of an offline query that is completed, by column, as plain JSON has them. */
  async offlineQueryRows(id: string, options: CallOptions = {}): Promise<readonly Record<string, unknown>[]> {
    const said = await this.#get(`/v1/offline-queries/${encodeURIComponent(id)}/table?format=json`, options);
    const content = await this.#session.content(String(said.url), options);
    return new TextDecoder()
      .decode(content)
      .split("\n")
      .filter((line) => line.trim() !== "")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /**
   * A dataset by its id or name, or the one of a revision by its id. Rejects with a QueryError of
   * status 404 when there is none.
   */
  async getDataset(dataset: string, options: CallOptions = {}): Promise<Dataset> {
    const pages: Json[] = [];
    let token = "";
    do {
      const page = token && `?page_token=${encodeURIComponent(token)}`;
      const said = await this.#get(`/v1/datasets/${encodeURIComponent(dataset)}${page}`, options);
      pages.push(said);
      token = String(said.next_cursor ?? "");
    } while (token);
    return datasetOf(pages);
  }

  /** The files of a revision of a dataset, or of its latest one, with their addresses. */
  async datasetFiles(revision: string, options: CallOptions = {}): Promise<readonly DatasetFile[]> {
    return filesOf(await this.#get(`/v1/datasets/${encodeURIComponent(revision)}?links=true&page_size=1`, options));
  }

  /**
   * The bytes of a file of a dataset, such as Parquet. Rejects with an UnexpectedAnswer when its
   * address has expired, or what came is not the file.
   */
  async downloadDatasetFile(file: DatasetFile, options: CallOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    const content = await this.#session.content(file.url, options);
    if (!(await isFile(file, content))) throw new UnexpectedAnswer(`${file.name} came damaged: it is not the file that was announced`, 200);
    return content;
  }

  #oneRow<O extends FeatureName<F>>(request: QueryRequest<F, O>): Json {
    return this.#body(request, { now: timeText(request.now), include_meta: request.includeMeta });
  }

  #manyRows<O extends FeatureName<F>>(request: BulkQueryRequest<F, O>): Json {
    const { now } = request;
    return this.#body(request, { now: typeof now === "string" || now instanceof Date ? timeText(now) : now?.map(timeText) });
  }

  #body<O extends FeatureName<F>>(request: QueryRequest<F, O> | BulkQueryRequest<F, O>, more: Json): Json {
    return {
      inputs: request.inputs ?? {},
      outputs: request.outputs,
      staleness: request.staleness,
      context: request.tags && { tags: request.tags },
      query_context: request.queryContext,
      query_name: request.queryName,
      query_name_version: request.queryNameVersion,
      correlation_id: request.correlationId,
      planner_options: request.plannerOptions,
      explain: request.explain,
      trace: request.trace,
      store_plan_stages: request.storePlanStages,
      deployment_id: this.#deploymentId,
      ...more,
    };
  }

  #resultOf<O extends FeatureName<F>>(answer: Json): QueryResult<F, O> {
    const meta = metaOf(answer.meta);
    const features = ((answer.data ?? []) as readonly Json[]).map((item) => this.#featureOf(item, meta.types));
    const data = Object.fromEntries(features.map(({ feature, value }) => [feature, value]));
    return { data: data as QueryResult<F, O>["data"], features, errors: errorsOf(answer), meta };
  }

  #post(path: string, body: Json, { environment, signal, timeoutMs }: CallOptions, idempotent = true): Promise<Json> {
    return this.#session.call({ method: "POST", path, body, idempotent, environment, signal, timeoutMs });
  }

  #get(path: string, { environment, signal, timeoutMs }: CallOptions): Promise<Json> {
    return this.#session.call({ method: "GET", path, environment, signal, timeoutMs });
  }

  async #wait<T>(ask: () => Promise<T>, goesOn: (said: T) => boolean, signal: AbortSignal | undefined): Promise<T> {
    for (let wait = FIRST_PAUSE_MS; ; wait = Math.min(wait * 1.5, LONGEST_PAUSE_MS)) {
      const said = await ask();
      if (!goesOn(said)) return said;
      await pause(wait, signal);
    }
  }

  #featureOf(item: Json, types: QueryMeta["types"]): FeatureResult {
    const { error, field, meta, pkey, ts, value } = item as {
      field: string;
      value: unknown;
      pkey: unknown;
      ts: string;
      error?: ErrorDetail;
      meta?: { chosen_resolver_fqn: string; cache_hit: boolean; primitive_type: string; version: number };
    };
    return {
      feature: field,
      value: fromJson(value, types[field], this.#integers),
      key: pkey ?? null,
      observedAt: ts,
      ...(error ? { error } : {}),
      ...(meta
        ? { meta: { resolver: meta.chosen_resolver_fqn, cacheHit: meta.cache_hit, type: meta.primitive_type, version: meta.version } }
        : {}),
    };
  }
}

/** A result itself, when nothing of it failed. Throws a QueryError otherwise. */
export function withoutErrors<R extends { readonly errors: readonly ErrorDetail[] }>(result: R): R {
  if (result.errors.length > 0) throw new QueryError(result.errors, 200);
  return result;
}

/**
 * What an answer of `queryBulkArrow` says beside its columns, of the metadata of its schema:
 * failures with their rows, and what is known of the query.
 */
export function arrowFacts(metadata: ReadonlyMap<string, string>): { readonly errors: readonly ErrorDetail[]; readonly meta: QueryMeta } {
  const said = (name: string): unknown => JSON.parse(metadata.get(name) ?? "null");
  return { errors: errorsOf({ errors: said("svc.errors") }), meta: metaOf(said("svc.meta")) };
}

function environmentVariables(): Readonly<Record<string, string | undefined>> {
  return (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env ?? {};
}

function timeText(time: Time | undefined): string | undefined {
  return time instanceof Date ? time.toISOString() : time;
}

function errorsOf({ errors }: Json): readonly ErrorDetail[] {
  return (errors ?? []) as readonly ErrorDetail[];
}

function metaOf(given: unknown): QueryMeta {
  const meta = (given ?? {}) as Json;
  const text = (name: string): string => String(meta[name] ?? "");
  return {
    queryId: text("query_id"),
    deploymentId: text("deployment_id"),
    environmentId: text("environment_id"),
    environmentName: text("environment_name"),
    queryHash: text("query_hash"),
    queryTimestamp: text("query_timestamp"),
    executionDurationS: Number(meta.execution_duration_s ?? 0),
    types: (meta.types ?? {}) as QueryMeta["types"],
    inferredOutputs: (meta.inferred_outputs ?? []) as readonly string[],
    warnings: (meta.warnings ?? []) as readonly string[],
    planStages: Number(meta.plan_stages ?? 0),
    ...(meta.explain_output ? { explainOutput: text("explain_output") } : {}),
    ...(meta.trace_id ? { traceId: text("trace_id") } : {}),
  };
}

function runOf(said: Json): ResolverRun {
  return {
    id: String(said.id),
    resolver: String(said.resolver),
    status: said.status as ResolverRun["status"],
    rows: Number(said.rows),
    failedRows: Number(said.failed_rows),
    error: String(said.error ?? ""),
  };
}

function offlineQueryOf(said: Json): OfflineQuery {
  return {
    id: String(said.id),
    status: said.status as OfflineQuery["status"],
    datasetId: String(said.dataset_id ?? ""),
    revisionId: String(said.revision_id ?? ""),
    totalRows: Number(said.total_rows ?? 0),
    doneRows: Number(said.done_rows ?? 0),
    failedRows: Number(said.failed_rows ?? 0),
    error: String(said.error ?? ""),
  };
}
