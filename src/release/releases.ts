/** Releases, as commands see them. */

import type { ChangelogEntry } from "../domain/release/changelog.ts";
import type { ReleaseFeed } from "../domain/release/manifest.ts";
import type { InstalledBuild } from "./install-folder.ts";
import type { Method } from "./obtain-build.ts";
import type { BuildFacts } from "./trial-run.ts";

/** A build that is current now. */
export interface CurrentBuild extends BuildFacts {
  readonly os: string;
  readonly arch: string;
  /** The build's own file. */
  readonly path: string;
  /** What people run. */
  readonly link: string;
  /**
   * The svc that PATH leads to: `link` when it is this one, another path, or null when there is
   * none.
   */
  readonly found_on_path: string | null;
  /** False when it was current before. */
  readonly changed: boolean;
  /** The version that was current before; null when there was none. */
  readonly previous: string | null;
  readonly method: Method;
  readonly downloaded_bytes: number;
}

/** Releases: what there is, and which of them are installed. */
export interface Releases {
  /** Whether anybody has said where releases come from. */
  hasOrigin(from?: string): Promise<boolean>;
  /**
   * The feed of the origin; when it cannot be had now, the one that was fetched last, with a note
   * on stderr; when there is none either, undefined with a note. A feed that is there and not to be
   * trusted is an error.
   */
  feed(from?: string): Promise<ReleaseFeed | undefined>;
  /** The feed of the origin now, or the reason why it cannot be had. */
  freshFeed(from?: string): Promise<ReleaseFeed>;
  /** The changelog that this build carries. */
  ownChangelog(): Promise<readonly ChangelogEntry[]>;
  /** Installs and makes current a version, by default the latest. Throws ReleaseError. */
  update(options: { readonly version?: string; readonly from?: string }): Promise<CurrentBuild>;
  /** Goes back to the build that was current before. Throws ReleaseError. */
  rollback(): Promise<CurrentBuild>;
  /** Builds on this machine, newest first. */
  installed(): Promise<readonly InstalledBuild[]>;
  /** Builds that nobody needs for running svc or for going back. */
  prunable(): Promise<readonly InstalledBuild[]>;
  /**
   * Removes these builds, except what has become needed since they were listed. Resolves with those
   * that are gone.
   */
  prune(builds: readonly InstalledBuild[]): Promise<readonly InstalledBuild[]>;
}
