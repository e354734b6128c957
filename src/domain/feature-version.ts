/** Versions of features: several features under one name, each with values of its own. */

import type { Feature } from "../../gen/svc/v1/graph_pb.ts";

type Versioned = Pick<Feature, "fqn" | "version" | "defaultVersion">;

/** A name without the version at its end: `trial.code` of `trial.code@2`. */
export function withoutVersion(name: string): string {
  return name.replace(/@\d+$/, "");
}

/**
 * The name under which the stores know a feature. It is the same whichever version is the default:
 * the first has the bare name, so that a feature that gets versions keeps its values.
 */
export function storedName({ fqn, version }: Pick<Feature, "fqn" | "version">): string {
  if (version === 0) return fqn;
  return version === 1 ? withoutVersion(fqn) : `${withoutVersion(fqn)}@${version}`;
}

/** The other name that a default version goes by, `trial.code@2`; undefined for other features. */
export function numberedName({ fqn, version, defaultVersion }: Versioned): string | undefined {
  return version !== 0 && version === defaultVersion ? `${fqn}@${version}` : undefined;
}
