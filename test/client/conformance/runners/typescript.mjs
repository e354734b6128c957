/**
 * The conformance table by the TypeScript client, on Node, Bun or in a browser: one outcome per
 * request.
 */

/** A value of the table as JavaScript has it; what has no type of its own stays text. */
function decoded(given) {
  if (given === null || typeof given !== "object") return given;
  if (Array.isArray(given)) return given.map(decoded);
  const [[kind, content]] = Object.entries(given);
  switch (kind) {
    case "$int":
      return Number.isSafeInteger(Number(content)) ? Number(content) : BigInt(content);
    case "$float":
      return Number(content);
    case "$bytes":
      return Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
    case "$time":
      return content.endsWith("000Z") ? new Date(content) : content;
    case "$duration": {
      const micros = BigInt(content);
      const size = micros < 0n ? -micros : micros;
      return `${micros < 0n ? "-" : ""}${size / 1_000_000n}.${String(size % 1_000_000n).padStart(6, "0")}s`;
    }
    case "$set":
      return new Set(content);
    case "$struct":
      return Object.fromEntries(Object.entries(content).map(([name, field]) => [name, decoded(field)]));
    default:
      return content;
  }
}

/** A value of an answer as JSON that keeps its digits. */
function printed(value) {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number")
    return Number.isFinite(value) && !Object.is(value, -0) ? value : Object.is(value, -0) ? "-0" : String(value);
  if (Array.isArray(value)) return value.map(printed);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, printed(item)]));
}

function errorsOf(errors) {
  return errors.map(({ category, code, exception, feature, message, resolver, row }) => ({
    ...{ category, code, message, feature, resolver, row },
    kind: exception?.kind,
  }));
}

function outcomeOf(call, result) {
  if (call === "multi") return { outcomes: result.map((one) => (one.errors && !one.meta ? refusalOf(one) : outcomeOf("query", one))) };
  if (call === "upload") return { stored: [result.rows, result.onlineValues, result.offlineValues] };
  const { data, errors, features, meta } = result;
  return {
    [call === "bulk" ? "columns" : "values"]: printed(data),
    errors: errorsOf(errors),
    inferred: meta.inferredOutputs,
    explained: meta.explainOutput !== undefined,
    traced: meta.traceId !== undefined,
    ...(features && {
      hits: Object.fromEntries(features.filter(({ meta: of }) => of).map(({ feature, meta: of }) => [feature, of.cacheHit])),
    }),
  };
}

const refusalOf = (error) => ({ refused: "query", errors: errorsOf(error.errors) });

const valuesOf = (inputs) => Object.fromEntries(Object.entries(inputs).map(([name, value]) => [name, decoded(value)]));

function ask(client, request) {
  const { call, dry_run, inputs, queries } = request;
  if (call === "upload") return client.uploadFeatures({ columns: valuesOf(inputs), dryRun: dry_run });
  if (call === "multi") return client.queryMulti(queries.map(queryOf));
  return call === "bulk" ? client.queryBulk(queryOf(request)) : client.query(queryOf(request));
}

function queryOf({ inputs, options = {}, outputs }) {
  return {
    inputs: valuesOf(inputs),
    outputs,
    staleness: options.staleness,
    tags: options.tags,
    now: options.now,
    queryContext: options.query_context,
    queryName: options.query_name,
    queryNameVersion: options.query_name_version,
    plannerOptions: options.planner_options,
    includeMeta: options.include_meta,
    explain: options.explain,
    trace: options.trace,
  };
}

/** The outcomes of a table, with clients of the package and the options of all of them. */
export async function run(table, { AuthenticationError, QueryError, ServerUnreachable, SvcClient }, common) {
  const shared = new SvcClient(common);
  const outcomes = [];
  for (const request of table) {
    const { api_server, branch, client_secret, deployment_id, environment, timeout_ms } = request.client ?? {};
    const own = {
      apiServer: api_server,
      branch,
      clientSecret: client_secret,
      deploymentId: deployment_id,
      environment,
      timeoutMs: timeout_ms,
    };
    const told = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
    const client = request.client ? new SvcClient({ ...common, ...told }) : shared;
    try {
      outcomes.push(outcomeOf(request.call, await ask(client, request)));
    } catch (error) {
      if (error instanceof QueryError) outcomes.push(refusalOf(error));
      else if (error instanceof AuthenticationError) outcomes.push({ refused: "authentication" });
      else if (error instanceof ServerUnreachable) outcomes.push({ refused: "unreachable" });
      else throw error;
    }
  }
  return outcomes;
}

const [, program, table] = globalThis.process?.argv ?? [];
if (program?.endsWith("typescript.mjs")) {
  const { readFileSync } = await import("node:fs");
  const outcomes = await run(JSON.parse(readFileSync(table, "utf8")), await import("svc-client"), {});
  for (const outcome of outcomes) console.log(JSON.stringify(outcome));
}
