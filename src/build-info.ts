/** Which build this is. The build bakes the three values in; a run from source says so. */

declare const SVC_VERSION: string | undefined;
declare const SVC_COMMIT: string | undefined;
declare const SVC_BUILD_TIME: string | undefined;

/** Facts about the running build. */
export interface BuildInfo {
  /** `v<major>.<minor>.<patch>`. */
  readonly version: string;
  /** Git commit, or `unknown`. */
  readonly commit: string;
  /** RFC 3339 in UTC, or `unknown`. */
  readonly builtAt: string;
}

/** The running build. */
export const buildInfo: BuildInfo = {
  version: typeof SVC_VERSION === "string" ? SVC_VERSION : "v0.0.0-dev",
  commit: typeof SVC_COMMIT === "string" ? SVC_COMMIT : "unknown",
  builtAt: typeof SVC_BUILD_TIME === "string" ? SVC_BUILD_TIME : "unknown",
};
