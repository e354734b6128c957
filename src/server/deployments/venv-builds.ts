/** Records of the virtual environments of deployments: their phases, and the installer's log. */

import { errorText } from "../../domain/error-text.ts";
import { ToolchainError, type VenvObserver } from "../../python/toolchain.ts";
import type { ImageBuildPhase, ImageBuildStore } from "../stores/metadata/image-builds.ts";
import { buildRecord } from "./build-record.ts";

/** A virtual environment that a deployment needs. */
export interface WantedVenv {
  readonly environmentId: string;
  readonly deploymentId: string;
  /** Name under `venvs` of the project file; empty = the deployment's own requirements. */
  readonly venv: string;
  readonly runtime: string;
}

/** The name of a build: `venv-0198...`, and behind it that of a venv. */
export function venvBuildName({ deploymentId, venv }: Pick<WantedVenv, "deploymentId" | "venv">): string {
  return `venv-${deploymentId.replace(/^dpl_/, "")}${venv === "" ? "" : `-${venv}`}`;
}

/** Where builds are recorded. */
export interface VenvRecords {
  readonly store: ImageBuildStore;
  /** Told that what is recorded of a build has changed. */
  readonly changed: () => void;
}

/**
 * Makes a virtual environment and records how. Rejects with the error of `make`. One that was made
 * for the deployment before is not recorded again.
 */
export async function recordedVenv<T>(
  { changed, store }: VenvRecords,
  wanted: WantedVenv,
  signal: AbortSignal,
  make: (observer: VenvObserver) => Promise<T>,
): Promise<T> {
  const { environmentId } = wanted;
  const name = venvBuildName(wanted);
  if (!(await store.begin({ ...wanted, name, kind: "venv", imageDestinations: [] }))) return make(UNOBSERVED);
  const record = buildRecord(store, environmentId, name, changed);
  let made: Exclude<ImageBuildPhase, "pending" | "running"> = "skipped";
  try {
    const result = await make({
      onFound(found) {
        made = MADE[found];
        if (found === "installing") record.running();
      },
      onLine: record.line,
    });
    await record.end(made);
    return result;
  } catch (error) {
    await record.end(error instanceof ToolchainError && !signal.aborted ? "failed" : "error", errorText(error));
    throw error;
  }
}

const MADE = { empty: "omitted", installing: "succeeded", kept: "skipped" } as const;
const UNOBSERVED: VenvObserver = { onFound: () => undefined, onLine: () => undefined };
