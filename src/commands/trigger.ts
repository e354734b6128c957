import type { TriggerResolverResponse } from "../../gen/svc/v1/resolver_run_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { maybe, text, timestamp } from "../cli/flag.ts";
import { msToTimestamp } from "../domain/proto-time.ts";
import { resourceFields } from "../output/message-view.ts";
import { stateText } from "./scheduled-resolver/runs/run-view.ts";

export default defineCommand({
  summary: "Run a resolver once",
  description:
    "The server computes the resolver's features for every row that it is for, and stores the values where the features' options say so. A resolver with " +
    "arguments runs for every row that the history knows, with the latest known values; one without that returns rows runs for its own. The filter and " +
    "the sample of a resolver's `Cron` hold here too. The command does not wait: `svc scheduled-resolver runs get` shows how far the run has got.",
  category: "Query and explore",
  examples: [
    "svc trigger --resolver get_fraud_score",
    { run: "svc trigger --resolver get_fraud_score --idempotency-key 2026-01-31", does: "Once, however often it is asked for" },
  ],
  needs: ["session"],
  flags: {
    resolver: text("resolver FQN, or its last part", { required: true, placeholder: "<resolver>" }),
    persistOnline: maybe("store values online where the features' options say so", { defaultText: "true" }),
    persistOffline: maybe("store values in the history where the features' options say so", { defaultText: "true, but on a branch" }),
    idempotencyKey: text("one run per key, however often it is asked for", { placeholder: "<key>" }),
    lowerBound: timestamp("only inputs at or after this instant"),
    upperBound: timestamp("only inputs before this instant"),
    deploymentId: text("deployment to run in, by id or tag", { aliases: ["--deployment"], placeholder: "<deployment>" }),
  },
  async run({ api }, { lowerBound, upperBound, resolver, persistOnline, persistOffline, idempotencyKey = "", deploymentId = "" }) {
    return (await api.resolverRuns()).triggerResolver({
      ...{ resolver, idempotencyKey, deploymentId },
      ...(persistOnline !== undefined && { persistOnline }),
      ...(persistOffline !== undefined && { persistOffline }),
      ...(lowerBound !== undefined && { lowerBound: msToTimestamp(lowerBound) }),
      ...(upperBound !== undefined && { upperBound: msToTimestamp(upperBound) }),
    });
  },
  view: resourceFields(({ run }: TriggerResolverResponse) => run, {
    id: "ID",
    state: { header: "Status", cell: stateText },
    resolver: "Resolver",
    url: "URL",
  }),
});
