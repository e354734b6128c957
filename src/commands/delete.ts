import type { Deletion, PreviewDeletionResponse } from "../../gen/svc/v1/feature_data_pb.ts";
import { defineCommand } from "../cli/command.ts";
import { list, text } from "../cli/flag.ts";
import { escapeControls, readableName } from "../domain/name.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";
import { resourceFields } from "../output/message-view.ts";
import { confirm, confirmFlags } from "./confirm-flags.ts";

/** Most names that the question tells. */
const MOST_SHOWN = 10;

export default defineCommand({
  summary: "Delete stored values of features for given keys",
  category: "Query and explore",
  description:
    "Removes them from the online store, the history and the query log (queries that hold one of the keys) of the environment, or with --branch of a branch, on " +
    "all nodes. Values of a time before the deletion are not stored again for 30 days, however late they come; a query that comes after it computes anew. " +
    "Features that are computed from deleted ones are not deleted with them, nor is what resolvers read. Datasets are copies and keep what they hold: archive " +
    "the revisions that should not.",
  examples: [
    "svc delete --features user.name,user.email --keys 1,2,3",
    { run: "svc delete --tags pii --keys 17 --yes", does: "All features of a tag, without a question" },
    { run: "svc delete --namespace user --keys 17", does: "All features of a namespace" },
  ],
  needs: ["session"],
  flags: {
    namespace: text("namespace of the features; alone it selects all of them"),
    features: list(text("features, by their names in the namespace or fully qualified"), { split: true }),
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
    let { deletion } = await service.deleteValues({ selection });
    while (deletion && !deletion.done) {
      context.progress.note(`Waiting for ${counted(deletion.waitingNodes, "node")}; the deletion goes on without this command.`);
      ({ deletion } = await service.getDeletion({ id: deletion.id }));
    }
    if (!deletion) throw new CliError("the server did not say what was deleted", { code: "internal" });
    return deletion;
  },
  view: resourceFields((deletion: Deletion) => deletion, {
    id: "Deletion",
    onlineValues: "Online values",
    offlineValues: "Offline values",
    loggedQueries: "Logged queries",
  }),
});

/** What is deleted, as a sentence. */
function losses({ branch, environment, features, keys }: PreviewDeletionResponse): string {
  const shown = features.slice(0, MOST_SHOWN).map((fqn) => escapeControls(readableName(fqn)));
  const names = features.length > MOST_SHOWN ? [...shown, `${features.length - MOST_SHOWN} more`] : shown;
  const place = `${branch === "" ? "" : `branch '${escapeControls(branch)}' of `}environment '${escapeControls(environment)}'`;
  const values = branch === "" ? "online and offline values" : "online values";
  return (
    `the ${values} of ${counted(features.length, "feature")} (${names.join(", ")}) of ${counted(keys, "row")} are deleted from ${place}, ` +
    "and queries with the keys from its log; datasets keep their copies; nothing brings them back"
  );
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
