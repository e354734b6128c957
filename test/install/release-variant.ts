/**
 * Feeds that are wrong in one way: the tests' feed by links, with some files of v0.3.0 replaced
 * and, where asked for, signed anew.
 */

import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type SecretKey, sign } from "../../src/domain/release/minisign.ts";
import { trustedComment } from "../../src/domain/release/trusted-comment.ts";
import type { BuiltFeed } from "../harness/release-feed.ts";

/** The version that is changed: the feed's latest. */
export const CHANGED_VERSION = "v0.3.0";

/** How the feed differs. Names are of files in the release's folder. */
export interface Variant {
  /** New contents; undefined removes the file. */
  readonly files?: Readonly<Record<string, string | Uint8Array | undefined>>;
  /** Edits the sums. They are signed again when `sign` says so. */
  readonly sums?: (text: string) => string;
  /** Signs the sums. */
  readonly sign?: {
    readonly key?: SecretKey;
    readonly comment?: string;
    readonly expiresAt?: string;
  };
  /** Edits the text of the signature, at last. */
  readonly signature?: (text: string) => string;
}

/** A time in the future, and one in the past. */
export const [LATER, EARLIER] = ["2099-01-01T00:00:00Z", "2020-01-01T00:00:00Z"];

/** Makes the feed in `folder`, which is new. Returns its path. */
export async function releaseVariant(feed: BuiltFeed, folder: string, variant: Variant): Promise<string> {
  const release = join(folder, "releases", CHANGED_VERSION);
  mkdirSync(release, { recursive: true });
  for (const name of ["install.sh", "index.json", "index.json.minisig"]) cpSync(join(feed.dir, name), join(folder, name));
  symlinkSync(join(feed.dir, "releases", "v0.1.0"), join(folder, "releases", "v0.1.0"));
  const original = join(feed.dir, "releases", CHANGED_VERSION);
  for (const name of readdirSync(original)) symlinkSync(join(original, name), join(release, name));
  for (const [name, content] of Object.entries(variant.files ?? {})) replace(join(release, name), content);

  const sums = variant.sums?.(readFileSync(join(release, "SHA256SUMS"), "utf8"));
  if (sums !== undefined) replace(join(release, "SHA256SUMS"), sums);
  if (variant.sign) {
    const { key = feed.key, expiresAt = LATER } = variant.sign;
    const comment = variant.sign.comment ?? trustedComment({ what: "sums", version: CHANGED_VERSION, expiresAt });
    replace(join(release, "SHA256SUMS.minisig"), await sign(readFileSync(join(release, "SHA256SUMS")), key, comment));
  }
  if (variant.signature) {
    const path = join(release, "SHA256SUMS.minisig");
    replace(path, variant.signature(readFileSync(path, "utf8")));
  }
  symlinkSync(`releases/${CHANGED_VERSION}`, join(folder, "latest"));
  return folder;
}

/** SHA-256 in hex. */
export const sha256 = (content: string | Uint8Array): string => new Bun.CryptoHasher("sha256").update(content).digest("hex");

function replace(path: string, content: string | Uint8Array | undefined): void {
  rmSync(path, { force: true });
  if (content !== undefined) writeFileSync(path, content);
}
