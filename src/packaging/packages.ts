/**
 * Manifests of package managers and CI systems: the templates in `templates/`, filled in with the
 * facts of a release.
 */

import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { ReleaseFile, ReleaseManifest } from "../domain/release/manifest.ts";
import { archiveNames } from "./archives.ts";
import { describeFile } from "./file-facts.ts";
import { PackagingError } from "./packaging-error.ts";

/** The facts for the templates. */
export interface PackageFacts {
  readonly manifest: ReleaseManifest;
  /** Archives by target. */
  readonly archives: Readonly<Record<string, ReleaseFile>>;
  /** The URL from which the feed is served; empty when it is unknown. */
  readonly baseUrl: string;
}

/** A template that this release cannot fill in. */
export interface SkippedTemplate {
  readonly template: string;
  /** The missing fact. */
  readonly missing: string;
}

const TEMPLATES = join(import.meta.dir, "templates");

/**
 * A placeholder: `{{name}}` or `{{name:target}}`, so that the `${{ name }}` of CI systems stays.
 */
const PLACEHOLDER = /\{\{([a-zA-Z0-9-]+)(?::([a-z0-9-]+))?\}\}/g;

/** Names of the templates: paths relative to the folder of the packages. */
export function templateNames(): string[] {
  return [...new Bun.Glob("**/*").scanSync(TEMPLATES)].map((name) => name.replaceAll("\\", "/")).sort();
}

/**
 * The filled template, or the fact that the release lacks for it. Throws PackagingError for an
 * unknown placeholder.
 */
export function fillTemplate(text: string, facts: PackageFacts): { readonly text: string } | { readonly missing: string } {
  let missing: string | undefined;
  const filled = text.replace(PLACEHOLDER, (whole, name: string, target: string | undefined) => {
    const value = placeholder(name, target, facts);
    const isBuilt = target === undefined || Object.hasOwn(facts.manifest.targets, target);
    if (value === undefined) missing ??= isBuilt ? "the base URL" : target;
    return value ?? whole;
  });
  return missing === undefined ? { text: filled } : { missing };
}

/**
 * Writes every filled template into `dir`, and returns those that the release cannot fill in.
 * Throws PackagingError.
 */
export async function writePackages(dir: string, facts: PackageFacts): Promise<SkippedTemplate[]> {
  const leftOut: SkippedTemplate[] = [];
  for (const template of templateNames()) {
    const result = fillTemplate(await readFile(join(TEMPLATES, template), "utf8"), facts);
    if ("missing" in result) leftOut.push({ template, missing: result.missing });
    else {
      await mkdir(dirname(join(dir, template)), { recursive: true });
      await writeFile(join(dir, template), result.text);
      await chmod(join(dir, template), 0o644);
    }
  }
  return leftOut;
}

/** The size and hash of the archives in a release's folder, by target. */
export async function describeArchives(dir: string, version: string, targets: readonly string[]): Promise<Record<string, ReleaseFile>> {
  const archives: Record<string, ReleaseFile> = {};
  for (const target of targets) archives[target] = await describeFile(join(dir, archiveNames(version, target).file));
  return archives;
}

function placeholder(name: string, target: string | undefined, { manifest, archives, baseUrl }: PackageFacts): string | undefined {
  if (target === undefined) {
    if (name === "version") return manifest.version;
    if (name === "number") return manifest.version.slice(1);
    if (name === "date") return manifest.built_at.slice(0, 10);
    if (name === "base") return baseUrl || undefined;
  } else {
    const archive = archives[target];
    if (name === "sha256") return manifest.targets[target]?.sha256;
    if (name === "archive-sha256") return archive?.sha256;
    if (name === "archive-SHA256") return archive?.sha256.toUpperCase();
    if (name === "archive-folder") return archive && archiveNames(manifest.version, target).folder;
    if (name === "archive-url") return archive && baseUrl ? `${baseUrl}/releases/${manifest.version}/${archive.url}` : undefined;
  }
  throw new PackagingError(`a template has the placeholder {{${name}${target ? `:${target}` : ""}}}, which means nothing`);
}
