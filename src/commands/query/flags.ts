/** The flags of a query, the rules between them, and the request that they describe. */

import { isAbsolute, join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { QueryInputSchema, QueryRequestSchema } from "../../../gen/svc/v1/query_pb.ts";
import type { InputOf } from "../../cli/command.ts";
import { bool, duration, float, int, keyValue, list, path, text, timestamp } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { formatDuration } from "../../domain/duration.ts";
import { rawName } from "../../domain/name.ts";
import { readPlannerOptions } from "../../domain/planner-options.ts";
import { msToDuration, msToTimestamp } from "../../domain/proto-time.ts";
import { toProtoValue } from "../../domain/proto-value.ts";
import { readStaleness } from "../../domain/staleness.ts";
import { type FeatureValue, parseExactJson } from "../../domain/value.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { DEFAULT_DURATION_MS, DEFAULT_QPS, DEFAULT_WARMUP_MS } from "../../query-client/benchmark.ts";

const BENCHMARK = "Benchmark";

/** The flags of a query. */
export const queryFlags = {
  in: list(
    keyValue("input; a leading dot means an absolute name; @file(path) reads the value from a file", {
      placeholder: "<feature=value>",
      names: "feature",
    }),
  ),
  rawInputs: bool("inputs are raw strings, no JSON decoding", { aliases: ["--raw"] }),
  out: list(text("output feature or namespace; comma list accepted", { placeholder: "<feature>", names: "output" }), { split: true }),
  staleness: list(keyValue("how old a stored value may be", { placeholder: "<feature=duration>", names: "feature" })),
  repeat: duration("repeat the query every so often, until interrupted"),
  deployment: text("query this deployment, for code deployed with --no-promote", {
    aliases: ["--deployment-id"],
    placeholder: "<id>",
    names: "deployment",
  }),
  queryName: text("query name", { placeholder: "<name>" }),
  queryNameVersion: text("version of the named query (default: the latest)", { placeholder: "<version>" }),
  now: timestamp("answer as of this instant, ISO 8601 with a time zone", { requireZone: true }),
  tag: list(text("tag for choosing resolvers", { placeholder: "<tag>" })),
  queryContext: list(keyValue("context that Python resolvers can read")),
  correlationId: text("correlation ID, kept in the log", { placeholder: "<id>" }),
  explain: bool("print the plan with its figures"),
  trace: bool("keep spans of the query, and print them below the answer"),
  storePlanStages: bool("keep what every step gives, for the run's page (much slower)"),
  translateFqns: bool("with --json, write windowed names readably: name[1d] for name__86400__", { aliases: ["--translate-windows"] }),
  includeMeta: bool("with --json, add metadata per feature"),
  plannerOption: list(keyValue("option of the planner, see above", { placeholder: "<name=value>" })),
  bulk: bool("several rows: one value of --in per row, or one for all"),
  benchmark: bool("run as a load test: queries are due at a fixed rate whatever the server does", { group: BENCHMARK }),
  qps: float("queries per second", { defaultText: String(DEFAULT_QPS), group: BENCHMARK }),
  duration: duration("length of the load test", { defaultText: formatDuration(DEFAULT_DURATION_MS), group: BENCHMARK }),
  warmupDuration: duration("load before it, which is not counted", { defaultText: formatDuration(DEFAULT_WARMUP_MS), group: BENCHMARK }),
  benchmarkOutput: path("file for the results, as JSON", { aliases: ["--benchmark-out"], placeholder: "<file>", group: BENCHMARK }),
  statsdHost: text("send each query's latency and outcome to StatsD on this host", { placeholder: "<host>", group: BENCHMARK }),
  statsdPort: int("its UDP port", { group: BENCHMARK }),
};

/** The parsed flags of a query. */
export type QueryFlags = InputOf<typeof queryFlags>;

/** Highest rate of a load test, in queries per second. */
const MAX_QPS = 100_000;

/** Checks the rules between the flags. Throws UsageError. */
export function checkQueryFlags(flags: QueryFlags): void {
  if (flags.in.length === 0 && flags.queryName === undefined) {
    throw new UsageError("say what to query with: --in <feature>=<value>", { hint: "For example: svc query --in user.id=1 --out user" });
  }
  const names = new Set<string>();
  for (const [feature] of flags.in) {
    const name = unrooted(feature);
    if (names.has(name) && !flags.bulk) {
      throw new UsageError(`--in gives '${feature}' more than one value; a query answers for one row`, {
        hint: "For a query of several rows: --bulk",
      });
    }
    names.add(name);
  }
  for (const [feature, text] of flags.staleness) {
    const read = readStaleness(text);
    if (typeof read === "string") throw new UsageError(`--staleness ${feature}=${text}: expected ${read}`);
  }
  checkOnce("--staleness", flags.staleness);
  checkOnce("--query-context", flags.queryContext);
  checkOnce("--planner-option", flags.plannerOption);
  const { problems } = readPlannerOptions(Object.fromEntries(flags.plannerOption));
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
  if (flags.repeat !== undefined && !(flags.repeat > 0 && Number.isFinite(flags.repeat))) {
    throw new UsageError("--repeat needs an interval above zero", { hint: "For example: --repeat 5s" });
  }
  checkBenchmarkFlags(flags);
  if (flags.queryNameVersion !== undefined && flags.queryName === undefined)
    throw new UsageError("--query-name-version needs --query-name");
}

function checkOnce(flag: string, pairs: readonly (readonly [string, string])[]): void {
  const seen = new Set<string>();
  for (const [key] of pairs) {
    if (seen.has(key)) throw new UsageError(`${flag} ${key} is given twice`);
    seen.add(key);
  }
}

function checkBenchmarkFlags(flags: QueryFlags): void {
  const { benchmark, benchmarkOutput, duration, qps, statsdHost, statsdPort, warmupDuration } = flags;
  const benchmarkFlags = {
    "--qps": qps,
    "--duration": duration,
    "--warmup-duration": warmupDuration,
    "--benchmark-output": benchmarkOutput,
  };
  for (const [name, value] of Object.entries(benchmarkFlags)) {
    if (value !== undefined && !benchmark) throw new UsageError(`${name} needs --benchmark`);
  }
  for (const [name, given] of Object.entries({
    "--repeat": flags.repeat !== undefined,
    "--bulk": flags.bulk,
    "--explain": flags.explain,
    "--trace": flags.trace,
    "--store-plan-stages": flags.storePlanStages,
  })) {
    if (given && benchmark) throw new UsageError(`--benchmark and ${name} exclude each other`);
  }
  if (qps !== undefined && !(qps > 0 && qps <= MAX_QPS)) throw new UsageError(`--qps is a rate above 0, at most ${MAX_QPS}`);
  if (duration !== undefined && !(duration > 0 && Number.isFinite(duration))) throw new UsageError("--duration needs a length above zero");
  if (warmupDuration === Number.POSITIVE_INFINITY) throw new UsageError("--warmup-duration needs an end");
  if ((statsdHost === undefined) !== (statsdPort === undefined)) {
    throw new UsageError("--statsd-host and --statsd-port belong together: give both or neither");
  }
  if (statsdPort !== undefined && !(statsdPort >= 1 && statsdPort <= 65_535))
    throw new UsageError("--statsd-port is a port from 1 to 65535");
}

/** A feature's name without its leading dot; windows stay in raw form. */
export function unrooted(feature: string): string {
  return rawName(feature).replace(/^\./, "");
}

/**
 * The request of a query; reads the files that `@file(path)` names, relative to the working
 * directory.
 */
export async function queryRequest(context: Context, flags: QueryFlags): Promise<MessageInitShape<typeof QueryRequestSchema>> {
  return {
    inputs: await Promise.all(flags.in.map(([feature, text]) => queryInput(context, feature, text, flags.rawInputs))),
    outputs: flags.out.map((name) => name.trim()).filter((name) => name !== ""),
    staleness: Object.fromEntries(flags.staleness.map(([feature, text]) => [feature, msToDuration(Number(readStaleness(text)))])),
    tags: [...flags.tag],
    queryContext: Object.fromEntries(flags.queryContext.map(([key, text]) => [key, toProtoValue(contextValue(key, text))])),
    queryName: flags.queryName,
    queryNameVersion: flags.queryNameVersion,
    correlationId: flags.correlationId,
    now: flags.now === undefined ? undefined : msToTimestamp(flags.now),
    plannerOptions: Object.fromEntries(flags.plannerOption),
    explain: flags.explain,
    includeMeta: true,
    trace: flags.trace,
    storePlanStages: flags.storePlanStages,
    deploymentId: flags.deployment,
  };
}

/** One input from its text; reads the file that `@file(path)` names. */
export async function queryInput(
  context: Context,
  feature: string,
  given: string,
  raw: boolean,
): Promise<MessageInitShape<typeof QueryInputSchema>> {
  const file = /^@file\((.+)\)$/s.exec(given)?.[1];
  const text = file === undefined ? given : await fileText(context, feature, file);
  return { feature, value: raw ? { case: "raw", value: text } : { case: "text", value: text } };
}

async function fileText({ flags, machine }: Context, feature: string, file: string): Promise<string> {
  const path = isAbsolute(file) ? file : join(flags.dir, file);
  const bytes = await machine.readBytes(path);
  if (bytes === undefined) {
    throw new CliError(`--in ${feature}: the file ${path} does not exist`, { code: "file_not_found" });
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes).replace(/\r?\n$/, "");
  } catch {
    throw new CliError(`--in ${feature}: the file ${path} is not UTF-8 text`, { code: "file_not_text" });
  }
}

/**
 * A value of the query context: JSON when the text parses as JSON, else the text. Integers are
 * exact; throws UsageError for one beyond 64 bits.
 */
function contextValue(key: string, text: string): FeatureValue {
  let value: FeatureValue;
  try {
    value = parseExactJson(text) as FeatureValue;
  } catch {
    return text;
  }
  if (hasHugeInteger(value))
    throw new UsageError(`--query-context ${key}=${text}: an integer is beyond 64 bits`, {
      hint: "Put it into quotes to have it as text.",
    });
  return value;
}

function hasHugeInteger(value: FeatureValue): boolean {
  if (typeof value === "bigint") return BigInt.asIntN(64, value) !== value;
  return value !== null && typeof value === "object" && Object.values(value).some((item) => hasHugeInteger(item as FeatureValue));
}
