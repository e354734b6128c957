/** The packages of the clients, as files: made of what the binary carries, without other tools. */

/** A package as a file. */
export interface PackageFile {
  readonly name: string;
  readonly content: Uint8Array;
}

/** The build that packages are made by. */
export interface PackagedBuild {
  /** `v<major>.<minor>.<patch>`, of a run from source with `-dev`. */
  readonly version: string;
  /** The time of all entries: RFC 3339, or `unknown`. */
  readonly builtAt: string;
}

/** The version without its `v`. */
export function plainVersion({ version }: PackagedBuild): string {
  return version.replace(/^v/, "");
}

/** Milliseconds since 1970 that entries have. */
export function entryTime({ builtAt }: PackagedBuild): number {
  const time = Date.parse(builtAt);
  return Number.isNaN(time) ? 0 : time;
}

/** What packages say of themselves. */
export const SUMMARY = "A client of svc, a feature platform for real-time machine learning";

/** The compression of packages, 1 to 9: they are made in a moment anyway. */
export const PACKAGE_LEVEL = 9;
