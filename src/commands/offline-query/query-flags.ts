/** The flags of an offline query, the rules between them, and the request that they describe. */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { OfflineQuerySplit, type StartOfflineQueryRequestSchema } from "../../../gen/svc/v1/offline_query_pb.ts";
import type { InputOf } from "../../cli/command.ts";
import { bool, choice, float, int, keyValue, list, optionalValue, path, text, timestamp } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { readPlannerOptions } from "../../domain/planner-options.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { formatOf, uploadRows } from "../../query-client/offline/rows-file.ts";
import { givenOrPicked } from "../pick-flags.ts";
import { queryInput } from "../query/flags.ts";
import { checkResourceGroup, resourceGroupFlag } from "../resource-group-flags.ts";
import { statusText } from "./query-view.ts";

const ROWS = "Rows";
const DIVISION = "Training sets";

/** The flags of an offline query. */
export const offlineQueryFlags = {
  in: list(
    keyValue("rows: values of a feature, separated by commas; one value is for all rows", {
      placeholder: "<feature=value,value>",
      names: "feature",
      group: ROWS,
    }),
  ),
  input: path("rows from a file, a column per feature: .parquet, .csv or .jsonl", { placeholder: "<file>", group: ROWS }),
  inputSql: text("rows that a select gives", { aliases: ["--spine-sql-query"], placeholder: "<select>", group: ROWS }),
  time: list(
    timestamp("time of the rows, or one for each, ISO 8601 with a time zone (default: now)", {
      aliases: ["--input-time", "--input-times"],
      requireZone: true,
      group: ROWS,
    }),
    { split: true },
  ),
  timeColumn: text("column of the file with the time of each row", { defaultText: "ts", placeholder: "<column>", group: ROWS }),
  lowerBound: timestamp("without rows: only keys observed at or after this instant", { group: ROWS }),
  upperBound: timestamp("without rows: only keys observed before this instant", { group: ROWS }),
  maxSamples: int("without rows: this many keys at most, the same ones every time", { group: ROWS }),
  out: list(text("output feature or namespace; comma list accepted", { placeholder: "<feature>", names: "output" }), { split: true }),
  requiredOut: list(text("output without which a row is left out", { aliases: ["--required-output"], placeholder: "<feature>" }), {
    split: true,
  }),
  recompute: optionalValue(text("compute all outputs, or these features, by resolvers", { placeholder: "<features>" })),
  asKnown: bool("see only values that had been stored by the row's time"),
  observedAt: bool("add a column with the time of observation for each output"),
  dataset: text("name of the dataset that the answer is a revision of", { aliases: ["--dataset-name"], placeholder: "<name>" }),
  numShards: int("parts that are computed side by side", { default: 1 }),
  storeOnline: bool("store computed values online"),
  storeOffline: bool("store computed values in the history, with the rows' times"),
  tag: list(text("tag for choosing resolvers", { placeholder: "<tag>" })),
  queryName: text("name of the query; that of a named query gives outputs and tags", { placeholder: "<name>" }),
  queryNameVersion: text("version of the named query (default: the latest)", { placeholder: "<version>" }),
  deployment: text("deployment, by id or tag (default: the live one)", {
    aliases: ["--deployment-id"],
    placeholder: "<id>",
    names: "deployment",
  }),
  resourceGroup: resourceGroupFlag(),
  plannerOption: list(keyValue("option of the planner, as in svc query", { placeholder: "<name=value>" })),
  sample: float("keep this part of the rows, such as 0.1, the same ones every time", { group: DIVISION }),
  testFraction: float("this part of the rows is for tests: column __split__ says train or test", { group: DIVISION }),
  splitBy: choice("what divides them: whole keys, or the latest rows", ["key", "time"], { default: "key", group: DIVISION }),
  await: bool("wait for the end", { aliases: ["--wait"] }),
  outputFile: path("file for the table, .parquet, .csv or .jsonl; waits for the end", { placeholder: "<file>" }),
};

/** The parsed flags of an offline query. */
export type OfflineQueryFlags = InputOf<typeof offlineQueryFlags>;

/** Checks the rules between the flags. Throws UsageError. */
export function checkOfflineQueryFlags(flags: OfflineQueryFlags): void {
  const { in: given, input, inputSql, lowerBound, upperBound, maxSamples, time, timeColumn, plannerOption } = flags;
  const kinds = Object.entries({
    "--in": given.length > 0,
    "--input": input !== undefined,
    "--input-sql": inputSql !== undefined,
    "--lower-bound, --upper-bound and --max-samples": lowerBound !== undefined || upperBound !== undefined || maxSamples !== undefined,
  }).filter(([, is]) => is);
  const [first, second] = kinds;
  if (first && second) throw new UsageError(`${first[0]} and ${second[0]} exclude each other: rows come from one place`);
  if (flags.out.length === 0 && flags.queryName === undefined)
    throw new UsageError("say what the rows are to have: --out <feature>", {
      hint: "For example: svc offline-query --in user.id=1,2,3 --out user.score --await",
    });
  if (timeColumn !== undefined && input === undefined && inputSql === undefined) throw new UsageError("--time-column needs --input");
  if (timeColumn !== undefined && time.length > 0) throw new UsageError("--time and --time-column exclude each other");
  if (time.length > 1 && given.length === 0) throw new UsageError("several --time need rows of --in, one for each");
  if (maxSamples !== undefined && maxSamples < 1) throw new UsageError("--max-samples takes 1 or more");
  if (lowerBound !== undefined && upperBound !== undefined && lowerBound >= upperBound)
    throw new UsageError("the bounds are empty: --lower-bound has to be earlier than --upper-bound");
  for (const [flag, fraction] of Object.entries({ "--sample": flags.sample, "--test-fraction": flags.testFraction }))
    if (fraction !== undefined && !(fraction > 0 && fraction < 1)) throw new UsageError(`${flag} is above 0 and below 1`);
  if (flags.queryNameVersion !== undefined && flags.queryName === undefined)
    throw new UsageError("--query-name-version needs --query-name");
  checkResourceGroup(flags.resourceGroup);
  if (input !== undefined) formatOf(input, "--input");
  if (flags.outputFile !== undefined) formatOf(flags.outputFile, "--output-file");
  const { problems } = readPlannerOptions(Object.fromEntries(plannerOption));
  if (problems.length > 0) throw new UsageError(problems.join("\n"));
}

/** The request of an offline query; uploads the file of its rows. */
export async function offlineQueryRequest(
  context: Context,
  flags: OfflineQueryFlags,
): Promise<MessageInitShape<typeof StartOfflineQueryRequestSchema>> {
  const { input, recompute, lowerBound, upperBound, maxSamples } = flags;
  const hasKeys = lowerBound !== undefined || upperBound !== undefined || maxSamples !== undefined;
  return {
    inputs: await Promise.all(
      flags.in.map(async ([feature, text]) => ({
        feature,
        values: await Promise.all(valuesOf(text).map((value) => queryInput(context, feature, value, false))),
      })),
    ),
    ...(input !== undefined && { file: { uploadId: await uploadRows(context, input), format: formatOf(input, "--input") } }),
    spineSql: flags.inputSql ?? "",
    ...(hasKeys && {
      keys: {
        ...(lowerBound !== undefined && { lowerBound: msToTimestamp(lowerBound) }),
        ...(upperBound !== undefined && { upperBound: msToTimestamp(upperBound) }),
        maxSamples: BigInt(maxSamples ?? 0),
      },
    }),
    times: flags.time.map(msToTimestamp),
    timeColumn: flags.timeColumn ?? "",
    ...{ outputs: named(flags.out), requiredOutputs: named(flags.requiredOut) },
    recompute: recompute === true,
    recomputeFeatures: typeof recompute === "string" ? named(recompute.split(",")) : [],
    ...{ asKnown: flags.asKnown, includeObservedAt: flags.observedAt, datasetName: flags.dataset ?? "", numShards: flags.numShards },
    ...{ storeOnline: flags.storeOnline, storeOffline: flags.storeOffline, tags: [...flags.tag] },
    ...{ queryName: flags.queryName ?? "", queryNameVersion: flags.queryNameVersion ?? "", deploymentId: flags.deployment ?? "" },
    ...{ sampleFraction: flags.sample ?? 0, testFraction: flags.testFraction ?? 0 },
    splitBy: flags.splitBy === "time" ? OfflineQuerySplit.TIME : OfflineQuerySplit.KEY,
    plannerOptions: Object.fromEntries(flags.plannerOption),
    resourceGroup: flags.resourceGroup ?? "",
  };
}

/** The values of a column: a JSON list, or text separated by commas. */
function valuesOf(text: string): readonly string[] {
  if (!text.trim().startsWith("[")) return text.split(",");
  try {
    const parsed: unknown = JSON.parse(text);
    if (Array.isArray(parsed)) return parsed.map((value) => JSON.stringify(value));
  } catch {}
  return text.split(",");
}

/** Names without those that are empty. */
export function named(names: readonly string[]): string[] {
  return names.map((name) => name.trim()).filter((name) => name !== "");
}

/** The id of a query that was given, or that the user picks. */
export function queryId(context: Context, given: string | undefined): Promise<string> {
  return givenOrPicked(context, given, {
    question: "Which query?",
    flag: "<id>",
    list: async () => {
      const { queries } = await (await context.api.offlineQueries()).listOfflineQueries({});
      return queries.map((query) => ({ id: query.id, name: `${query.queryName || query.outputs.join(", ")} ${statusText(query)}` }));
    },
  });
}
