import type { Deletion, PreviewDeletionResponse } from "../../gen/svc/v1/feature_data_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { list, text } from "../cli/flag.ts";
import { escapeControls } from "../domain/name.ts";
import { UsageError } from "../errors/cli-error.ts";
import { messageFields } from "../output/message-view.ts";
import { orRequestView } from "./approval/approval-view.ts";
import { requested } from "./approval/flags.ts";
import { confirm, confirmFlags } from "./confirm-flags.ts";
import { counted, featureFlags, featureNames, finished } from "./deletion-flags.ts";

export default defineCommand({
  summary: "Delete stored values of features for given keys",
  category: "Query and explore",
  description:
    "Removes them from the online store, the history, the query log (queries that hold one of the keys) and the deliveries to webhooks that wait or are kept, of " +
    "the environment, or with --branch of a branch, on all nodes. Values of a time before the deletion are not stored again for 30 days, however late they come; a query that comes after it computes anew. " +
    "Features that are computed from deleted ones are not deleted with them, nor is what resolvers read. Datasets are copies and keep what they hold: archive " +
    "the revisions that should not.",
  examples: [
    "svc delete --features user.name,user.email --keys 1,2,3",
    { run: "svc delete --tags pii --keys 17 --yes", does: "All features of a tag, without a question" },
    { run: "svc delete --namespace user --keys 17", does: "All features of a namespace" },
  ],
  needs: ["session"],
  flags: {
    ...featureFlags,
    tags: list(text("tags of features"), { split: true }),
    keys: list(text("primary keys"), { split: true }),
    ...confirmFlags,
  },
  check({ features, keys, namespace, tags }) {
    if (keys.length === 0) throw new UsageError("--keys is missing");
    if (features.length > 0 && tags.length > 0) throw new UsageError("--features and --tags are not used together");
    if (features.length + tags.length === 0 && namespace === undefined)
      throw new UsageError("--features, --tags or --namespace is missing");
  },
  async run(context, { features, force, keys, namespace = "", tags }) {
    const service = await context.api.featureData();
    const selection = { namespace, features, tags, keys };
    const preview = await service.previewDeletion({ selection });
    context.progress.warn(losses(preview));
    await confirm(context, { force }, "Delete them?");
    const answer = await service.deleteValues({ selection });
    return answer.approvalId === "" ? finished(context, answer.deletion) : requested(context, answer.approvalId);
  },
  view: orRequestView(
    messageFields<Deletion>({
      id: "Deletion",
      onlineValues: "Online values",
      offlineValues: "Offline values",
      loggedQueries: "Logged queries",
      webhookValues: "Webhook values",
    }),
  ),
});

/** What is deleted, as a sentence. */
function losses({ branch, environment, features, keys }: PreviewDeletionResponse): string {
  const place = `${branch === "" ? "" : `branch '${escapeControls(branch)}' of `}environment '${escapeControls(environment)}'`;
  const values = branch === "" ? "online and offline values" : "online values";
  return (
    `the ${values} of ${counted(features.length, "feature")} (${featureNames(features)}) of ${counted(keys, "row")} are deleted from ${place}, ` +
    "and queries with the keys from its log; datasets keep their copies; nothing brings them back"
  );
}
