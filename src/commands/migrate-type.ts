import type { MigrateTypesResponse } from "../../gen/svc/v1/feature_data_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { messageTable } from "../output/message-view.ts";
import { orRequestView } from "./approval/approval-view.ts";
import { requested } from "./approval/flags.ts";
import { confirm, confirmFlags } from "./confirm-flags.ts";
import { checkSelected, everywhere, featureFlags, warnOfLoss } from "./deletion-flags.ts";

export default defineCommand({
  summary: "Have features go on with their next internal version",
  category: "Query and explore",
  description:
    "The history of the versions before is kept in tables of their own, which no query reads, and their values in the online store are removed, on all nodes and " +
    "in all branches. Use it when a feature keeps its type and its values come to mean something else. A change of the type itself does this with `svc apply`.",
  examples: [
    "svc migrate-type --features user.score",
    { run: "svc migrate-type --namespace user --yes", does: "All features of a namespace, without a question" },
  ],
  needs: ["session"],
  flags: { ...featureFlags, ...confirmFlags },
  check: checkSelected,
  async run(context, { features, force, namespace = "" }) {
    await warnOfLoss(context, { features, namespace }, "their online values are removed, and their history is out of the reach of queries");
    await confirm(context, { force }, "Migrate them?");
    const answer = await (await context.api.featureData()).migrateTypes({ selection: { features, namespace } });
    return answer.approvalId === "" ? everywhere(context, answer) : requested(context, answer.approvalId);
  },
  view: orRequestView(
    messageTable<MigrateTypesResponse>("versions", {
      fqn: "Feature",
      internalVersion: { header: "Internal version", align: "right" },
    }),
  ),
});
