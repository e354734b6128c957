/** The contents of an origin: its feed, and the manifest of a version. */

import { parseFeed, parseManifest, type ReleaseFeed, type ReleaseManifest } from "../domain/release/manifest.ts";
import { ReleaseError } from "./release-error.ts";
import type { ReleaseFiles } from "./release-files.ts";
import { readSigned, refuseExpired } from "./signed-document.ts";

/**
 * A release, and the folder of its files relative to the origin's base; empty for the base itself.
 */
export interface FoundRelease {
  readonly manifest: ReleaseManifest;
  readonly folder: string;
}

/** The feed. An expired one does not say what is latest: see `freshFeed`. Throws ReleaseError. */
export async function readFeed(files: ReleaseFiles): Promise<ReleaseFeed> {
  return readSigned(files, "index.json", "index", parseFeed, ({ latest, expires_at }) => ({ version: latest, expiresAt: expires_at }));
}

/** The feed for finding the latest release. Throws ReleaseError, also when it has expired. */
export async function freshFeed(files: ReleaseFiles, now: number): Promise<ReleaseFeed> {
  const feed = await readFeed(files);
  refuseExpired(feed.expires_at, now, files.nameOf("index.json"));
  return feed;
}

/**
 * The latest release: of the feed, or of a folder that contains a single release. Throws
 * ReleaseError.
 */
export async function findLatest(files: ReleaseFiles, now: number): Promise<FoundRelease> {
  const feed = await freshFeed(files, now).catch((error) => absent(error));
  const path = feed ? manifestPath(feed) : "manifest.json";
  const found = await readManifest(files, path).catch((error) => {
    throw feed ? error : nothingThere(files, error);
  });
  if (feed && found.manifest.version !== feed.latest) throw wrongVersion(files.nameOf(path), found.manifest.version, feed.latest);
  refuseExpired(found.manifest.expires_at, now, files.nameOf(path));
  return found;
}

/** The release of a version, however old. Throws ReleaseError. */
export async function findVersion(files: ReleaseFiles, version: string): Promise<FoundRelease> {
  const path = `releases/${version}/manifest.json`;
  const found =
    (await readManifest(files, path).catch((error) => absent(error))) ??
    (await readManifest(files, "manifest.json").catch((error) => {
      throw absent(error) ?? missingVersion(files, version);
    }));
  if (found.manifest.version === version) return found;
  if (found.folder === "") throw missingVersion(files, version);
  throw wrongVersion(files.nameOf(path), found.manifest.version, version);
}

async function readManifest(files: ReleaseFiles, path: string): Promise<FoundRelease> {
  const manifest = await readSigned(files, path, "manifest", parseManifest, ({ version, expires_at }) => ({
    version,
    expiresAt: expires_at,
  }));
  return { manifest, folder: path.slice(0, Math.max(0, path.lastIndexOf("/"))) };
}

function manifestPath({ latest, releases }: ReleaseFeed): string {
  return (
    releases.find(({ version, component }) => version === latest && component === "svc")?.manifest ?? `releases/${latest}/manifest.json`
  );
}

/** Undefined when the error means that the file does not exist; throws other errors. */
function absent(error: unknown): undefined {
  if (error instanceof ReleaseError && error.code === "release_not_found") return undefined;
  throw error;
}

function nothingThere(files: ReleaseFiles, error: unknown): unknown {
  if (!(error instanceof ReleaseError) || error.code !== "release_not_found") return error;
  return new ReleaseError(`there are no releases at ${files.origin.base}: neither index.json nor manifest.json`, "release_not_found", {
    hint: error.hint,
    cause: error,
  });
}

function missingVersion(files: ReleaseFiles, version: string): ReleaseError {
  return new ReleaseError(`there is no release ${version} at ${files.origin.base}`, "release_not_found", {
    hint: "`svc releases list` shows what there is.",
  });
}

function wrongVersion(where: string, found: string, wanted: string): ReleaseError {
  return new ReleaseError(`${where} is of ${found}, not of ${wanted}`, "release_wrong_version", {
    hint: "Nothing was installed. The files of the host were mixed up.",
  });
}
