/** Facts about this build of svc. The build bakes the values in; a run from source has defaults. */

declare const SVC_VERSION: string | undefined;
declare const SVC_COMMIT: string | undefined;
declare const SVC_BUILD_TIME: string | undefined;
declare const SVC_TARGET: string | undefined;
declare const SVC_PUBLIC_KEY: string | undefined;
declare const SVC_RELEASE_HOST: string | undefined;

/** Facts about the running build. */
export interface BuildInfo {
  /** `v<major>.<minor>.<patch>`. */
  readonly version: string;
  /** Git commit, or `unknown`. */
  readonly commit: string;
  /** RFC 3339 in UTC, or `unknown`. */
  readonly builtAt: string;
  /**
   * Name of the release target it was built for, for example `linux-amd64-musl`; empty when it was
   * not built for a release.
   */
  readonly target: string;
  /**
   * The key that signs its releases, as minisign prints it; empty when it was built without one.
   */
  readonly publicKey: string;
  /** Base URL of the host of its releases; empty when it has none of its own. */
  readonly releaseHost: string;
}

/** The running build. */
export const buildInfo: BuildInfo = {
  version: typeof SVC_VERSION === "string" ? SVC_VERSION : "v0.0.0-dev",
  commit: typeof SVC_COMMIT === "string" ? SVC_COMMIT : "unknown",
  builtAt: typeof SVC_BUILD_TIME === "string" ? SVC_BUILD_TIME : "unknown",
  target: typeof SVC_TARGET === "string" ? SVC_TARGET : "",
  publicKey: typeof SVC_PUBLIC_KEY === "string" ? SVC_PUBLIC_KEY : "",
  releaseHost: typeof SVC_RELEASE_HOST === "string" ? SVC_RELEASE_HOST : "",
};
