/**
 * Changes of stored values that may need approval. Each has an id from when it was asked for, by
 * which it is known that it was made; it is refused when its features have other versions by then,
 * so that nobody's approval reaches values of another meaning.
 */

import type { Graph } from "../../../gen/svc/v1/graph_pb.ts";
import type { DeploymentTarget } from "../access/scope.ts";
import type { Deletions } from "../deletions/deletions.ts";
import { select, selectVersions } from "../deletions/selection.ts";
import { featureKeys } from "../deployments/feature-keys.ts";
import { Failure } from "../failure.ts";
import type { EnvironmentRecord } from "../stores/metadata/identity.ts";
import type { VersionStore } from "../stores/metadata/versions.ts";
import type { KeptUpload, KeptUploads } from "../value-uploads/kept-uploads.ts";

/** A change of the values of an environment. */
export type ValueChange =
  | {
      readonly kind: "values.delete";
      readonly deletionId: string;
      /** The deployment that the caller named; empty = the live one. */
      readonly deploymentId: string;
      /** Fully qualified names. */
      readonly features: readonly string[];
      /** Primary keys as text. */
      readonly keys: readonly string[];
    }
  | { readonly kind: "values.migrate" | "values.drop"; readonly deletionId: string; readonly features: readonly string[] }
  | { readonly kind: "values.upload"; readonly upload: KeptUpload };

/** The capabilities that change values. */
export interface ValueChangeParts {
  readonly metadata: Pick<VersionStore, "knownFeatures">;
  readonly deployments: { resolve(target: DeploymentTarget): Promise<string>; graph(id: string): Promise<Graph> };
  readonly deletions: () => Promise<Pick<Deletions, "begin" | "endVersions" | "has">>;
  readonly uploads: () => Promise<KeptUploads>;
}

/** Changes of values. */
export interface ValueChanges {
  /** Rejects with the Failure of making the change, and changes nothing. */
  check(environment: EnvironmentRecord, change: ValueChange): Promise<void>;
  /** The features that change, by the numbers of their newest versions. */
  versions(environment: EnvironmentRecord, change: ValueChange): Promise<Readonly<Record<string, number>>>;
  /** Whether it was made before. */
  isMade(change: ValueChange): Promise<boolean>;
  /** Makes the change; of values that came with a call, again. */
  make(environment: EnvironmentRecord, change: ValueChange): Promise<void>;
  /** Removes what was kept for a change, and is needed no more. */
  discard(change: ValueChange): Promise<void>;
}

/** Most names of features that people are shown. */
const MAX_NAMES = 50;

/** Makes the changes of values. */
export function createValueChanges({ deletions, deployments, metadata, uploads }: ValueChangeParts): ValueChanges {
  const graphOf = async (environment: EnvironmentRecord, deploymentId: string): Promise<Graph> =>
    deployments.graph(await deployments.resolve({ environment, branch: "", deploymentId }));
  const rowsOf = async (environment: EnvironmentRecord, { deploymentId, features, keys }: ValueChange & { kind: "values.delete" }) =>
    select(
      { namespace: "", features, tags: [], keys },
      await graphOf(environment, deploymentId),
      await metadata.knownFeatures(environment.id),
    );
  const versionsOf = async (environment: EnvironmentRecord, features: readonly string[]) =>
    selectVersions({ namespace: "", features }, featureKeys(await graphOf(environment, "")), await metadata.knownFeatures(environment.id));

  return {
    async check(environment, change) {
      if (change.kind === "values.delete") await rowsOf(environment, change);
      else if (change.kind !== "values.upload") await versionsOf(environment, change.features);
    },

    async versions(environment, change) {
      const wanted = new Set(changedFeatures(change));
      const newest: Record<string, number> = {};
      for (const { fqn, internalVersion } of await metadata.knownFeatures(environment.id))
        if (wanted.has(fqn)) newest[fqn] = Math.max(newest[fqn] ?? 0, internalVersion);
      return newest;
    },

    isMade: async (change) =>
      change.kind === "values.upload" ? (await uploads()).isMade(change.upload) : (await deletions()).has(change.deletionId),

    async make(environment, change) {
      switch (change.kind) {
        case "values.delete": {
          const { rows } = await rowsOf(environment, change);
          await (await deletions()).begin(environment.id, "", rows, change.deletionId);
          return;
        }
        case "values.migrate":
        case "values.drop": {
          const { features, relations } = await versionsOf(environment, change.features);
          const what = { environmentId: environment.id, features: [...features, ...relations], isDropped: change.kind === "values.drop" };
          await (await deletions()).endVersions(what, change.deletionId);
          return;
        }
        case "values.upload":
          return (await uploads()).make(environment, change.upload);
      }
    },

    async discard(change) {
      if (change.kind === "values.upload") await (await uploads()).discard(change.upload);
    },
  };
}

/** What would change, for people: names of features and numbers of rows, never keys. */
export function valueNames(change: ValueChange): readonly string[] {
  const features = changedFeatures(change);
  const shown = features.length > MAX_NAMES ? [...features.slice(0, MAX_NAMES), `${features.length - MAX_NAMES} more features`] : features;
  if (change.kind === "values.delete") return [counted(new Set(change.keys).size), ...shown];
  if (change.kind !== "values.upload") return shown;
  const { options, rows } = change.upload;
  return [counted(rows), ...shown, ...(options.target === "both" ? [] : [`${options.target} alone`])];
}

/** Whether a change is one of values. */
export function isValueChange(change: { readonly kind: string }): change is ValueChange {
  return change.kind.startsWith("values.");
}

/** The features whose values change. */
export function changedFeatures(change: ValueChange): readonly string[] {
  return change.kind === "values.upload" ? change.upload.features : change.features;
}

/** Why a change of values is not made whose features have other versions now. */
export function versionsChanged(features: readonly string[]): Failure {
  const names = features.slice(0, 5).join(", ");
  return new Failure("failed_precondition", `The versions of ${names} changed since this was asked for, so nothing was changed.`, {
    hint: "Look at it, and ask anew.",
  });
}

function counted(rows: number): string {
  return `${rows} row${rows === 1 ? "" : "s"}`;
}
