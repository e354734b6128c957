/** The flags by which stored features are selected for deletion, the loss in words, and its end. */

import type { Deletion, InternalVersion } from "../../gen/svc/v1/feature_data_pb.ts";
import { list, text } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { escapeControls, readableName } from "../domain/name.ts";
import { CliError, UsageError } from "../errors/cli-error.ts";

/** Most names that a question tells. */
const MOST_SHOWN = 10;

/** `--features`, `--namespace`. */
export const featureFlags = {
  features: list(text("features, by their names in the namespace or fully qualified"), { split: true }),
  namespace: text("namespace of the features; alone it selects all of them"),
};

/** What the flags select. */
export interface SelectedFeatures {
  readonly features: readonly string[];
  readonly namespace: string | undefined;
}

/** Refuses flags that select nothing. */
export function checkSelected({ features, namespace }: SelectedFeatures): void {
  if (features.length === 0 && namespace === undefined) throw new UsageError("--features or --namespace is missing");
}

/** Warns of what is lost by the end of the versions of features. */
export async function warnOfLoss(context: Context, { features, namespace = "" }: SelectedFeatures, loss: string): Promise<void> {
  const service = await context.api.featureData();
  const { environment, versions } = await service.previewVersions({ selection: { features: [...features], namespace } });
  const names = featureNames(versions.map(({ fqn }) => fqn));
  const place = `environment '${escapeControls(environment)}' and its branches`;
  context.progress.warn(`${counted(versions.length, "feature")} (${names}) of ${place}: ${loss}; nothing brings them back`);
}

/** Waits until all nodes have ended the versions; the same answer then, with what was removed. */
export async function everywhere<A extends { readonly versions: InternalVersion[]; readonly deletion?: Deletion }>(
  context: Context,
  answer: A,
): Promise<A> {
  return { ...answer, deletion: await finished(context, answer.deletion) };
}

/** A deletion when all nodes that run are done with it. */
export async function finished({ api, progress }: Context, begun: Deletion | undefined): Promise<Deletion> {
  let deletion = begun;
  while (deletion && !deletion.done) {
    progress.note(`Waiting for ${counted(deletion.waitingNodes, "node")}; the deletion goes on without this command.`);
    ({ deletion } = await (await api.featureData()).getDeletion({ id: deletion.id }));
  }
  if (!deletion) throw new CliError("the server did not say what was deleted", { code: "internal" });
  return deletion;
}

/** Names of features, the first of many. */
export function featureNames(features: readonly string[]): string {
  const shown = features.slice(0, MOST_SHOWN).map((fqn) => escapeControls(readableName(fqn)));
  return (features.length > MOST_SHOWN ? [...shown, `${features.length - MOST_SHOWN} more`] : shown).join(", ");
}

/** A number with a noun. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
