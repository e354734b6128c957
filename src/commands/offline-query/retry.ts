import type { MessageInitShape } from "@bufbuild/protobuf";
import type { OfflineQueryOptions, OfflineQueryOptionsSchema, RetryOfflineQueryResponse } from "../../../gen/svc/v1/offline_query_pb.ts";
import { defineCommand, type InputOf } from "../../cli/command.ts";
import { float, int, list, maybe, optionalArg, text, timestamp } from "../../cli/flag.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { CliError, UsageError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { checkResourceGroup, resourceGroupFlag } from "../resource-group-flags.ts";
import { named, queryId } from "./query-flags.ts";
import { statusText } from "./query-view.ts";

const KEYS = "Rows that are known";

const flags = {
  out: list(text("other outputs", { placeholder: "<feature>", names: "output" }), { split: true }),
  recompute: text("what resolvers compute: all, none, or these features", { placeholder: "<features>" }),
  asKnown: maybe("see only values that had been stored by the row's time"),
  dataset: text("name of the dataset that the answer is a revision of", { aliases: ["--dataset-name"], placeholder: "<name>" }),
  numShards: int("parts that are computed side by side"),
  storeOnline: maybe("store computed values online"),
  storeOffline: maybe("store computed values in the history, with the rows' times"),
  deployment: text("deployment, by id or tag; live = the live one", {
    aliases: ["--deployment-id"],
    placeholder: "<id>",
    names: "deployment",
  }),
  resourceGroup: resourceGroupFlag("as it was"),
  sample: float("keep this part of the rows, such as 0.1; 0 keeps all"),
  testFraction: float("this part of the rows is for tests; 0 divides none"),
  lowerBound: timestamp("only keys observed at or after this instant", { group: KEYS }),
  upperBound: timestamp("only keys observed before this instant", { group: KEYS }),
  maxSamples: int("this many keys at most; 0 = all", { group: KEYS }),
};
type Flags = InputOf<typeof flags>;

export default defineCommand({
  summary: "Run the stored request body again",
  description:
    "As a query of its own, with the same rows. What no flag says is as it was. A file of rows is kept for a week after the query that it came with has ended.",
  examples: [
    "svc offline-query retry ofq_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c",
    { run: "svc offline-query retry ofq_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c --recompute all --num-shards 4", does: "With changes" },
  ],
  needs: ["session"],
  args: { id: optionalArg("id of the query; left out: pick one on a terminal") },
  flags,
  check({ lowerBound, upperBound, maxSamples, numShards, resourceGroup }) {
    checkResourceGroup(resourceGroup);
    if (lowerBound !== undefined && upperBound !== undefined && lowerBound >= upperBound)
      throw new UsageError("the bounds are empty: --lower-bound has to be earlier than --upper-bound");
    if (maxSamples !== undefined && maxSamples < 0) throw new UsageError("--max-samples takes 0 or more");
    if (numShards !== undefined && numShards < 1) throw new UsageError("--num-shards takes 1 or more");
  },
  async run(context, { id: given, ...changes }) {
    const service = await context.api.offlineQueries();
    const id = await queryId(context, given);
    if (Object.values(changes).every((one) => one === undefined || (Array.isArray(one) && one.length === 0)))
      return service.retryOfflineQuery({ id });
    const { query } = await service.getOfflineQuery({ id });
    if (!query?.options)
      throw new CliError("The server does not tell what the query asked for, and so runs it again only as it was", {
        code: "not_supported",
      });
    return service.retryOfflineQuery({ id, options: changed(query.options, changes) });
  },
  view: resourceFields(({ query }: RetryOfflineQueryResponse) => query, {
    id: "ID",
    status: { header: "Status", cell: statusText },
    retryOf: "Retry of",
  }),
});

/** The options of a query with those that flags state. */
function changed(
  { $typeName: _, keys, ...options }: OfflineQueryOptions,
  { out, recompute, lowerBound, upperBound, maxSamples, dataset, deployment, sample, ...given }: Flags,
): MessageInitShape<typeof OfflineQueryOptionsSchema> {
  const { asKnown, numShards, resourceGroup, storeOffline, storeOnline, testFraction } = given;
  const hasKeys = lowerBound !== undefined || upperBound !== undefined || maxSamples !== undefined;
  return {
    ...options,
    ...(out.length > 0 && { outputs: named(out) }),
    ...(recompute !== undefined && {
      recompute: recompute === "all",
      recomputeFeatures: recompute === "all" || recompute === "none" ? [] : named(recompute.split(",")),
    }),
    ...(dataset !== undefined && { datasetName: dataset }),
    ...(deployment !== undefined && { deploymentId: deployment === "live" ? "" : deployment }),
    ...(sample !== undefined && { sampleFraction: sample }),
    ...(asKnown !== undefined && { asKnown }),
    ...(numShards !== undefined && { numShards }),
    ...(resourceGroup !== undefined && { resourceGroup }),
    ...(storeOffline !== undefined && { storeOffline }),
    ...(storeOnline !== undefined && { storeOnline }),
    ...(testFraction !== undefined && { testFraction }),
    ...((keys || hasKeys) && {
      keys: {
        ...(keys && { lowerBound: keys.lowerBound, upperBound: keys.upperBound, maxSamples: keys.maxSamples }),
        ...(lowerBound !== undefined && { lowerBound: msToTimestamp(lowerBound) }),
        ...(upperBound !== undefined && { upperBound: msToTimestamp(upperBound) }),
        ...(maxSamples !== undefined && { maxSamples: BigInt(maxSamples) }),
      },
    }),
  };
}
