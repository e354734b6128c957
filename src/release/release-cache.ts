/**
 * The cache of facts about releases, below `$SVC_HOME/cache`: the feed that was fetched last, and a
 * small record of the daily check for a newer version.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { svcHome } from "../config/home.ts";
import type { Surroundings } from "../context/machine.ts";
import { DiskError } from "../disk/disk-error.ts";
import { writePrivateFile } from "../disk/private-file.ts";
import { parseFeed, type ReleaseFeed } from "../domain/release/manifest.ts";

type CacheLocation = Pick<Surroundings, "env" | "homeDir">;

/** The record of the daily check. Times are epoch milliseconds; 0 means never. */
export interface UpdateCheck {
  /** Time of the last request for the feed, successful or not. */
  readonly checkedAt: number;
  /** Time of the last reminder. */
  readonly toldAt: number;
  /** The latest known version; empty when none is known. */
  readonly latest: string;
}

/** The feed that was fetched last. */
export interface CachedFeed {
  /** Base of the origin. */
  readonly origin: string;
  /** RFC 3339, UTC. */
  readonly fetched_at: string;
  readonly feed: ReleaseFeed;
}

const NOTHING: UpdateCheck = { checkedAt: 0, toldAt: 0, latest: "" };

/** The record of the daily check; all zero and empty when it is missing or damaged. */
export function readUpdateCheck(location: CacheLocation): UpdateCheck {
  try {
    const { checkedAt, toldAt, latest } = JSON.parse(readFileSync(path(location, "update-check.json"), "utf8")) as Partial<UpdateCheck>;
    const sound =
      typeof checkedAt === "number" && typeof toldAt === "number" && typeof latest === "string" && /^(|v\d+\.\d+\.\d+)$/.test(latest);
    return sound ? { checkedAt, toldAt, latest } : NOTHING;
  } catch {
    return NOTHING;
  }
}

/** Stores the record; does nothing where it cannot be written. */
export function writeUpdateCheck(location: CacheLocation, check: UpdateCheck): void {
  write(path(location, "update-check.json"), check);
}

/** The feed that was last fetched from this origin; undefined when there is none. */
export function readCachedFeed(location: CacheLocation, origin: string): CachedFeed | undefined {
  try {
    const found = JSON.parse(readFileSync(path(location, "releases.json"), "utf8")) as Partial<CachedFeed>;
    if (found.origin !== origin || typeof found.fetched_at !== "string") return undefined;
    return { origin, fetched_at: found.fetched_at, feed: parseFeed(JSON.stringify(found.feed)) };
  } catch {
    return undefined;
  }
}

/** Stores a feed; does nothing where it cannot be written. */
export function writeCachedFeed(location: CacheLocation, cached: CachedFeed): void {
  write(path(location, "releases.json"), cached);
}

function path(location: CacheLocation, name: string): string {
  return join(svcHome(location), "cache", name);
}

function write(file: string, content: unknown): void {
  try {
    writePrivateFile(file, JSON.stringify(content), { durable: false });
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
  }
}
