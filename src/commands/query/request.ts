/** The request of a query, from the flags. */

import { isAbsolute, join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { QueryInputSchema, QueryRequestSchema } from "../../../gen/svc/v1/query_pb.ts";
import type { Context } from "../../context/context.ts";
import { DURATION_GRAMMAR, parseDuration } from "../../domain/duration.ts";
import { rawName } from "../../domain/name.ts";
import { msToDuration, msToTimestamp } from "../../domain/proto-time.ts";
import { toProtoValue } from "../../domain/proto-value.ts";
import type { FeatureValue } from "../../domain/value.ts";
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
  readonly storePlanStages: boolean;
  readonly explain: boolean;
  readonly trace: boolean;
  readonly queryContext: readonly (readonly [string, string])[];
  readonly plannerOption: readonly (readonly [string, string])[];
  readonly correlationId: string | undefined;
}

/** Rules that cross the flags; throws UsageError. */
export function checkQueryFlags(flags: QueryFlags): void {
  if (flags.in.length === 0 && flags.queryName === undefined) {
    throw new UsageError("say what to query with: --in <feature>=<value>", { hint: "For example: svc query --in user.id=1 --out user" });
  }
  const names = new Set<string>();
  for (const [feature] of flags.in) {
    const name = rawName(feature).replace(/^\./, "");
    if (names.has(name)) throw new UsageError(`--in gives '${feature}' more than one value; a query answers for one row`);
    names.add(name);
  }
  for (const [feature, text] of flags.staleness) {
    if (parseDuration(text) === undefined) throw new UsageError(`--staleness ${feature}=${text}: expected ${DURATION_GRAMMAR}`);
  }
  if (flags.queryNameVersion !== undefined && flags.queryName === undefined)
    throw new UsageError("--query-name-version needs --query-name");
}

/** Makes the request; reads the files that `@file(path)` names, relative to the working directory. */
export async function queryRequest(context: Context, flags: QueryFlags): Promise<MessageInitShape<typeof QueryRequestSchema>> {
  return {
    inputs: await Promise.all(flags.in.map(([feature, text]) => inputOf(context, feature, text, flags.rawInputs))),
    outputs: flags.out.map((name) => name.trim()).filter((name) => name !== ""),
    staleness: Object.fromEntries(flags.staleness.map(([feature, text]) => [feature, msToDuration(parseDuration(text) ?? 0)])),
    tags: [...flags.tag],
    queryContext: Object.fromEntries(flags.queryContext.map(([key, text]) => [key, toProtoValue(contextValue(text))])),
    queryName: flags.queryName,
    queryNameVersion: flags.queryNameVersion,
    correlationId: flags.correlationId,
    now: flags.now === undefined ? undefined : msToTimestamp(flags.now),
    plannerOptions: Object.fromEntries(flags.plannerOption),
    explain: flags.explain,
    includeMeta: true,
    storePlanStages: flags.storePlanStages,
    trace: flags.trace,
    deploymentId: flags.deployment,
  };
}

async function inputOf(context: Context, feature: string, given: string, raw: boolean): Promise<MessageInitShape<typeof QueryInputSchema>> {
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

/** A value of the context is JSON when it can be read as that, else text. */
function contextValue(text: string): FeatureValue {
  try {
    return JSON.parse(text) as FeatureValue;
  } catch {
    return text;
  }
}
