/** The releases of svc, as commands see them. */

import type { ChangelogEntry } from "../domain/release/changelog.ts";
import type { ReleaseFeed } from "../domain/release/manifest.ts";
import type { InstalledBuild } from "./install-folder.ts";
import type { Method } from "./obtain-build.ts";
import type { BuildFacts } from "./trial-run.ts";

/** The current build, after an update or rollback. */
export interface CurrentBuild extends BuildFacts {
  readonly os: string;
  readonly arch: string;
  /** The build's own file. */
  readonly path: string;
  /** The path that users run. */
  readonly link: string;
  /**
   * The svc that PATH leads to: `link` when it is this one, another path, or null when there is
   * none.
   */
  readonly found_on_path: string | null;
  /** False when it was already current. */
  readonly changed: boolean;
  /** The version that was current before; null when there was none. */
  readonly previous: string | null;
  readonly method: Method;
  readonly downloaded_bytes: number;
}

/** Available releases and installed builds. */
export interface Releases {
  /** Whether an origin of releases is configured. */
  hasOrigin(from?: string): Promise<boolean>;
  /**
   * The feed of the origin; when it cannot be fetched now, the one that was fetched last, with a
   * note on stderr; when there is none either, undefined with a note. Rejects when the feed exists
   * but cannot be trusted.
   */
  feed(from?: string): Promise<ReleaseFeed | undefined>;
  /** The feed of the origin, fetched now. Rejects when it cannot be fetched. */
  freshFeed(from?: string): Promise<ReleaseFeed>;
  /** The changelog that this build carries. */
  ownChangelog(): Promise<readonly ChangelogEntry[]>;
  /** Installs a version, by default the latest, and makes it current. Throws ReleaseError. */
  update(options: { readonly version?: string; readonly from?: string }): Promise<CurrentBuild>;
  /** Makes the build current that was current before. Throws ReleaseError. */
  rollback(): Promise<CurrentBuild>;
  /** Builds on this machine, newest first. */
  installed(): Promise<readonly InstalledBuild[]>;
  /** Builds needed neither for running svc nor for a rollback. */
  prunable(): Promise<readonly InstalledBuild[]>;
  /**
   * Removes these builds, except those that have become needed since they were listed. Resolves
   * with the removed ones.
   */
  prune(builds: readonly InstalledBuild[]): Promise<readonly InstalledBuild[]>;
}
