/** The releases of svc, for the context of one command. */

import changelog from "../../CHANGELOG.md" with { type: "text" };
import { buildInfo } from "../build-info.ts";
import { type ChangelogEntry, changelogEntries } from "../domain/release/changelog.ts";
import type { ReleaseFeed } from "../domain/release/manifest.ts";
import { freshFeed, readFeed } from "./catalog.ts";
import { installedBuilds, installFolder } from "./install-folder.ts";
import { findOrigin } from "./origin.ts";
import { readCachedFeed, readUpdateCheck, writeCachedFeed, writeUpdateCheck } from "./release-cache.ts";
import { ReleaseError } from "./release-error.ts";
import type { Releases } from "./releases.ts";
import { postponeReminder } from "./reminder.ts";
import { openOrigin, prunableBuilds, pruneBuilds, type ReleaseHost, rollback, update } from "./update.ts";

/** Longest silence of the host while a person waits for a list. */
const LIST_STALL_MS = 10_000;

/** The releases; nothing is read or dialled before the first call. */
export function createReleases(host: ReleaseHost): Releases {
  const { surroundings, clock, flags } = host;
  const changed = async <T>(work: Promise<T>): Promise<T> => {
    const result = await work;
    postponeReminder(surroundings, clock.now());
    return result;
  };
  return {
    hasOrigin: async (from) => findOrigin(from, surroundings, flags.dir) !== undefined,
    feed: (from) => knownFeed(host, from),
    freshFeed: (from) => freshFeed(openOrigin(host, from, LIST_STALL_MS), clock.now()),
    ownChangelog: async () => carriedChangelog(),
    update: (options) => changed(update(host, options)),
    rollback: () => changed(rollback(host)),
    installed: () => installedBuilds(installFolder(surroundings)),
    prunable: () => prunableBuilds(host),
    prune: (builds) => pruneBuilds(host, builds),
  };
}

/**
 * The changelog in this build. Its section `Unreleased` describes this build, unless there is a
 * section for its version.
 */
function carriedChangelog(): readonly ChangelogEntry[] {
  const { builtAt, version } = buildInfo;
  const entries = changelogEntries(changelog);
  if (entries.some((entry) => entry.version === version)) return entries;
  const published_at = builtAt === "unknown" ? null : builtAt;
  return entries.map((entry) => (/^unreleased$/i.test(entry.version) ? { ...entry, version, published_at } : entry));
}

async function knownFeed(host: ReleaseHost, from: string | undefined): Promise<ReleaseFeed | undefined> {
  const { surroundings, clock, flags, progress } = host;
  if (!findOrigin(from, surroundings, flags.dir)) {
    progress.note("Nobody has said where releases come from: name a host with --from or SVC_RELEASES. What this build knows is shown.");
    return undefined;
  }
  const files = openOrigin(host, from, LIST_STALL_MS);
  const { base } = files.origin;
  try {
    const feed = await readFeed(files);
    if (clock.now() >= Date.parse(feed.expires_at))
      progress.warn(`${base} has not been renewed since ${feed.expires_at}: there may be newer releases`);
    writeCachedFeed(surroundings, { origin: base, fetched_at: new Date(clock.now()).toISOString(), feed });
    return feed;
  } catch (error) {
    if (!(error instanceof ReleaseError) || error.code !== "release_unreachable") throw error;
    const cached = readCachedFeed(surroundings, base);
    progress.note(`${error.message}.`);
    progress.note(cached ? `What is shown was fetched at ${cached.fetched_at}.` : "What this build knows is shown.");
    return cached?.feed;
  }
}

/**
 * Fetches the feed and stores the latest version; for the background process. Rejects when the feed
 * cannot be fetched.
 */
export async function refreshFeed(host: ReleaseHost): Promise<ReleaseFeed> {
  const files = openOrigin(host, undefined, LIST_STALL_MS);
  const now = host.clock.now();
  const feed = await freshFeed(files, now);
  writeCachedFeed(host.surroundings, { origin: files.origin.base, fetched_at: new Date(now).toISOString(), feed });
  writeUpdateCheck(host.surroundings, { ...readUpdateCheck(host.surroundings), checkedAt: now, latest: feed.latest });
  return feed;
}
