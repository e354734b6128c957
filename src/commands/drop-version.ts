import type { DropVersionsResponse } from "../../gen/svc/v1/feature_data_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { messageTable } from "../output/message-view.ts";
import { orRequestView } from "./approval/approval-view.ts";
import { requested } from "./approval/flags.ts";
import { confirm, confirmFlags } from "./confirm-flags.ts";
import { checkSelected, everywhere, featureFlags, warnOfLoss } from "./deletion-flags.ts";

export default defineCommand({
  summary: "Drop all that is stored of features, of all their versions",
  category: "Query and explore",
  aliases: ["drop"],
  description:
    "It is removed from the online store and the history, on all nodes and in all branches; the features go on with their next internal version, which has " +
    "nothing. Values that were computed before are not stored again. What is computed of them, the query log and files of datasets stay. `svc delete` removes " +
    "rows by their keys.",
  examples: [
    "svc drop-version --features user.score,user.name",
    { run: "svc drop-version --namespace user --yes", does: "All features of a namespace, without a question" },
  ],
  needs: ["session"],
  flags: { ...featureFlags, ...confirmFlags },
  check: checkSelected,
  async run(context, { features, force, namespace = "" }) {
    await warnOfLoss(context, { features, namespace }, "all their values are removed, online and in the history");
    await confirm(context, { force }, "Drop them?");
    const answer = await (await context.api.featureData()).dropVersions({ selection: { features, namespace } });
    return answer.approvalId === "" ? everywhere(context, answer) : requested(context, answer.approvalId);
  },
  view: orRequestView(
    messageTable<DropVersionsResponse>("versions", {
      fqn: "Feature",
      internalVersion: { header: "Next version", align: "right" },
    }),
  ),
});
