/** The capabilities for datasets. */

import { createRevisionMaker, type RevisionMakerParts, type Revisions } from "./revision-maker.ts";

/** Datasets. */
export interface DatasetCapabilities {
  /** Revisions as those see them who make them. */
  readonly revisions: Revisions;
}

/** Makes the capabilities. */
export function createDatasetCapabilities(parts: RevisionMakerParts): DatasetCapabilities {
  return { revisions: createRevisionMaker(parts) };
}
