/** Builds as tables and lines. */

import { type ImageBuild, ImageBuildKind, ImageBuildPhase } from "../../../gen/svc/v1/image_build_pb.ts";
import type { FieldViews } from "../../output/message-view.ts";
import { age } from "../../output/time.ts";

/** Phases as people name them. */
export const PHASES = {
  pending: ImageBuildPhase.PENDING,
  running: ImageBuildPhase.RUNNING,
  succeeded: ImageBuildPhase.SUCCEEDED,
  failed: ImageBuildPhase.FAILED,
  error: ImageBuildPhase.ERROR,
  skipped: ImageBuildPhase.SKIPPED,
  omitted: ImageBuildPhase.OMITTED,
} as const;

/** The phase of a build in a word. */
export function phaseText({ phase }: Pick<ImageBuild, "phase">): string {
  const name = Object.entries(PHASES).find(([, value]) => value === phase)?.[0] ?? "";
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

function kindText({ kind }: Pick<ImageBuild, "kind">): string {
  return kind === ImageBuildKind.VENV ? "virtual environment" : "image";
}

/** Columns of a list of builds. */
export const BUILD_COLUMNS: FieldViews<ImageBuild> = {
  name: "Name",
  phase: { header: "Phase", cell: phaseText },
  imageDestinations: { header: "Image Destinations", cell: ({ imageDestinations }) => imageDestinations.join(", "), flexible: true },
  kind: { header: "Kind", cell: kindText, dispensable: true },
  createdAt: { header: "Created", cell: ({ createdAt }, style) => age(createdAt, style), dispensable: true },
};

/** All that people see of a build. */
export const BUILD_FIELDS: FieldViews<ImageBuild> = {
  name: "Name",
  phase: { header: "Phase", cell: phaseText },
  kind: { header: "Kind", cell: kindText },
  imageDestinations: { header: "Image destinations", cell: ({ imageDestinations }) => imageDestinations.join(", ") || "none" },
  deploymentId: { header: "Deployment", ifAny: true },
  venv: { header: "Venv", ifAny: true },
  runtime: { header: "Runtime", ifAny: true },
  createdAt: "Created",
  startedAt: { header: "Began", ifAny: true },
  endedAt: { header: "Ended", ifAny: true },
  error: { header: "Error", ifAny: true },
  url: { header: "Page", ifAny: true },
};
