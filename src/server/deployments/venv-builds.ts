/** Records of the virtual environments of deployments: their phases, and the installer's log. */

import { errorText } from "../../domain/error-text.ts";
import { ToolchainError, type VenvObserver } from "../../python/toolchain.ts";
import type { ImageBuildPhase, ImageBuildStore } from "../stores/metadata/image-builds.ts";

/** Most lines of a log that are kept. */
const MAX_LINES = 1_000;
/** Longest line, in characters. */
const MAX_LINE = 2_000;
const MAX_ERROR = 4_000;
/** Milliseconds in which lines are gathered. */
const GATHER_MS = 200;

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
  let made: Exclude<ImageBuildPhase, "pending" | "running"> = "skipped";
  let lines: string[] = [];
  let writing: Promise<unknown> = Promise.resolve();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const gathered = lines;
    lines = [];
    if (gathered.length > 0) writing = writing.then(() => store.addLines(environmentId, name, gathered, MAX_LINES)).then(changed);
  };
  const end = async (phase: Exclude<ImageBuildPhase, "pending" | "running">, error = ""): Promise<void> => {
    flush();
    await writing;
    await store.move(environmentId, name, phase, error.slice(0, MAX_ERROR));
    changed();
  };
  try {
    const result = await make({
      onFound(found) {
        made = MADE[found];
        if (found === "installing") writing = writing.then(() => store.move(environmentId, name, "running")).then(changed);
      },
      onLine(line) {
        lines.push(line.slice(0, MAX_LINE));
        timer ??= setTimeout(flush, GATHER_MS);
      },
    });
    await end(made);
    return result;
  } catch (error) {
    await end(error instanceof ToolchainError && !signal.aborted ? "failed" : "error", errorText(error));
    throw error;
  }
}

const MADE = { empty: "omitted", installing: "succeeded", kept: "skipped" } as const;
const UNOBSERVED: VenvObserver = { onFound: () => undefined, onLine: () => undefined };
