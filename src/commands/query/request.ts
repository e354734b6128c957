/** The request of a query, from the flags. */

import { isAbsolute, join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { QueryInputSchema, QueryRequestSchema } from "../../../gen/svc/v1/query_pb.ts";
import type { Context } from "../../context/context.ts";
import { rawName } from "../../domain/name.ts";
import { readPlannerOptions } from "../../domain/planner-options.ts";
import { msToDuration, msToTimestamp } from "../../domain/proto-time.ts";
import { toProtoValue } from "../../domain/proto-value.ts";
import { readStaleness } from "../../domain/staleness.ts";
import { type FeatureValue, parseExactJson } from "../../domain/value.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";

/** The flags that make the request. */
export interface QueryFlags {
  readonly in: readonly (readonly [string, string])[];
  readonly rawInputs: boolean;
  readonly out: readonly string[];
  readonly staleness: readonly (readonly [string, string])[];
  readonly deployment: string | undefined;
  readonly queryName: string | undefined;
  readonly queryNameVersion: string | undefined;
  readonly now: number | undefined;
  readonly tag: readonly string[];
  readonly explain: boolean;
  readonly queryContext: readonly (readonly [string, string])[];
  readonly correlationId: string | undefined;
  readonly repeat: number | undefined;
  readonly plannerOption: readonly (readonly [string, string])[];
  readonly trace: boolean;
  readonly storePlanStages: boolean;
  readonly bulk: boolean;
  readonly benchmark: boolean;
  readonly qps: number | undefined;
  readonly duration: number | undefined;
  readonly warmupDuration: number | undefined;
  readonly benchmarkOutput: string | undefined;
  readonly statsdHost: string | undefined;
  readonly statsdPort: number | undefined;
}

/** Highest rate of a load test, in queries per second. */
const MAX_QPS = 100_000;

/** Rules that cross the flags; throws UsageError. */
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
  const alone = { "--qps": qps, "--duration": duration, "--warmup-duration": warmupDuration, "--benchmark-output": benchmarkOutput };
  for (const [name, value] of Object.entries(alone)) {
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

/** A feature's name without the dot that roots it, windows in raw form. */
export function unrooted(feature: string): string {
  return rawName(feature).replace(/^\./, "");
}

/** Makes the request; reads the files that `@file(path)` names, relative to the working directory. */
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

/** A value of the context is JSON when it can be read as that, else text. Integers are exact; throws UsageError for one beyond 64 bits. */
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
