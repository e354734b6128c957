/** A small release, written and signed as a real one, of files that take no time to build. */

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ReleaseBinary, ReleaseManifest } from "../../src/domain/release/manifest.ts";
import type { SecretKey } from "../../src/domain/release/minisign.ts";
import { RELEASE_TARGETS, releaseFileName } from "../../src/domain/release/target.ts";
import { archiveNames } from "../../src/packaging/archives.ts";
import { describeFile } from "../../src/packaging/file-facts.ts";
import { signRelease } from "../../src/packaging/release.ts";

/** What to write. */
export interface SmallRelease {
  readonly dir: string;
  readonly version: string;
  readonly key: SecretKey;
  /** What a binary holds. */
  readonly content?: (target: string) => string;
  readonly expiresAt?: string;
}

/**
 * Writes binaries, their `.gz`, their archives and the signed statements for every target, and
 * returns the manifest.
 */
export async function writeSmallRelease({ dir, version, key, content, expiresAt }: SmallRelease): Promise<ReleaseManifest> {
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const targets: Record<string, ReleaseBinary> = {};
  for (const { name } of RELEASE_TARGETS) {
    const path = join(dir, releaseFileName(name));
    const bytes = Buffer.from(content?.(name) ?? `${version} for ${name}`);
    writeFileSync(path, bytes, { mode: 0o755 });
    writeFileSync(`${path}.gz`, Bun.gzipSync(bytes));
    writeFileSync(join(dir, archiveNames(version, name).file), `archive of ${name}`);
    targets[name] = { ...(await describeFile(path)), encodings: { gz: await describeFile(`${path}.gz`) }, deltas: [] };
  }
  for (const script of ["install.sh", "install.ps1"]) writeFileSync(join(dir, script), `# ${script} of ${version}\n`);
  const manifest: ReleaseManifest = {
    format: 1,
    version,
    commit: "0123456789abcdef",
    built_at: "2024-02-29T12:34:56Z",
    expires_at: expiresAt ?? "2099-01-01T00:00:00Z",
    min_version: "v0.1.0",
    targets,
  };
  await signRelease(dir, manifest, key);
  return manifest;
}
