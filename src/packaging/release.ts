/**
 * A release in a folder: binaries for every target, compressed, with patches from older ones, and
 * the signed manifest and sums.
 */

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { npmPackage } from "../client-packages/npm-package.ts";
import { wheel } from "../client-packages/wheel.ts";
import {
  parseManifest,
  type ReleaseBinary,
  type ReleaseDelta,
  type ReleaseFile,
  ReleaseFormatError,
  type ReleaseManifest,
} from "../domain/release/manifest.ts";
import { publicKeyText, type SecretKey } from "../domain/release/minisign.ts";
import { NO_BUILD_FOR_386 } from "../domain/release/no-build.ts";
import { plainFileName, type ReleaseTarget, releaseFileName } from "../domain/release/target.ts";
import { accompanyingFiles, archiveNames, archiveTarget } from "./archives.ts";
import { compile } from "./compile.ts";
import { compressFile, ENCODINGS, gzipLevel, writeDelta } from "./compress.ts";
import { describeFile, sumsOf } from "./file-facts.ts";
import { linkOrCopy } from "./folder-swap.ts";
import { filledInstallScripts } from "./install-scripts.ts";
import { inParallel } from "./jobs.ts";
import { describeArchives, writePackages } from "./packages.ts";
import { PackagingError } from "./packaging-error.ts";
import type { Provenance } from "./provenance.ts";
import { writeSigned } from "./signed-file.ts";
import { writeSourceMaps } from "./source-maps.ts";

/**
 * The oldest build that can update itself to this one: raised when a change in the layout of an
 * installation or a feed requires it.
 */
export const MIN_VERSION = "v0.1.0";

/** The options of a release. */
export interface ReleaseOptions {
  /** Folder of the sources. */
  readonly root: string;
  /** Folder to write; an older release in it is removed. */
  readonly out: string;
  readonly version: string;
  readonly provenance: Provenance;
  readonly targets: readonly ReleaseTarget[];
  readonly key: SecretKey;
  readonly baseUrl: string;
  /** RFC 3339, UTC. */
  readonly expiresAt: string;
  /** Compression level of zstd. */
  readonly level: number;
  /** Whether the binaries hold the table engine's library. */
  readonly tables: boolean;
  /** Folders of older releases. */
  readonly deltasFrom: readonly string[];
  /** Called with a line about each step when it ends. */
  readonly progress: (line: string) => void;
}

/** Duration of the steps in seconds, by file name. */
export type StepSeconds = Map<string, number>;

/** A completed release. */
export interface BuiltRelease {
  readonly manifest: ReleaseManifest;
  readonly seconds: StepSeconds;
}

/** File of the manifest in a release's folder. */
export const MANIFEST = "manifest.json";
/** File of the sums in a release's folder. */
export const SUMS = "SHA256SUMS";

/** Builds, compresses, describes and signs a release. Throws PackagingError. */
export async function buildRelease(order: ReleaseOptions): Promise<BuiltRelease> {
  const { root, out, version, provenance, key, baseUrl } = order;
  const older = await Promise.all(order.deltasFrom.map((dir) => readOlderRelease(dir, version)));
  const scripts = await filledInstallScripts(root, publicKeyText(key.public), baseUrl);
  await emptyFolder(out);
  const seconds: StepSeconds = new Map();
  const timed: Timed = async (name, work) => {
    const started = performance.now();
    await work();
    const took = (performance.now() - started) / 1000;
    seconds.set(name, took);
    order.progress(`${name} (${took.toFixed(1)} s)`);
  };
  await compileTargets(order, timed);
  const deltas = older.flatMap((release) => order.targets.flatMap(({ name }) => deltaPlan(release, name)));
  await inParallel(await derivedFiles(order, deltas, timed), availableParallelism());
  const targets: Record<string, ReleaseBinary> = {};
  for (const { name } of order.targets) targets[name] = await describeBinary(out, name, deltas);
  const manifest: ReleaseManifest = {
    format: 1,
    version,
    commit: provenance.commit,
    built_at: provenance.builtAt,
    expires_at: order.expiresAt,
    min_version: MIN_VERSION,
    targets,
  };
  await writePlainNames(order);
  for (const { content, name } of await Promise.all([
    wheel({ version, builtAt: provenance.builtAt }),
    npmPackage({ version, builtAt: provenance.builtAt }),
  ]))
    await writeFile(join(out, name), content);
  for (const [name, text] of scripts) await writeFile(join(out, name), text, { mode: name.endsWith(".sh") ? 0o755 : 0o644 });
  const archives = await describeArchives(out, version, Object.keys(targets));
  for (const { template, missing } of await writePackages(join(out, "packages"), { manifest, archives, baseUrl }))
    order.progress(`packages/${template} is left out: it needs ${missing}`);
  await signRelease(out, manifest, key);
  return { manifest, seconds };
}

/**
 * Gives builds whose names end in `.exe` a second name without it, and writes the text that
 * replaces the missing build for 386, so that the sums cover these names too.
 */
async function writePlainNames({ out, targets }: ReleaseOptions): Promise<void> {
  for (const { name } of targets)
    if (releaseFileName(name) !== plainFileName(name)) await linkOrCopy(join(out, releaseFileName(name)), join(out, plainFileName(name)));
  await writeFile(join(out, plainFileName(NO_BUILD_FOR_386.target)), NO_BUILD_FOR_386.text);
}

type Timed = (name: string, work: () => Promise<unknown>) => Promise<void>;

/** Compiles one target after the other: the compiler uses every core by itself. */
async function compileTargets(order: ReleaseOptions, timed: Timed): Promise<void> {
  const { root, out, version, provenance, targets, key, baseUrl, level } = order;
  for (const { name, bun } of targets) {
    const facts = { ...provenance, version, target: name, publicKey: publicKeyText(key.public), releaseHost: baseUrl };
    const file = releaseFileName(name);
    const options = { bunTarget: bun, tables: { included: order.tables, level } };
    await timed(file, () => compile(root, join(out, file), facts, options));
    await timed(`source maps of ${file}`, () => writeSourceMaps(root, join(out, file), join(out, "sourcemaps", name), facts, options));
  }
}

/** The jobs that make files from the binaries, each for one core. */
async function derivedFiles(
  { root, out, version, provenance, targets, level }: ReleaseOptions,
  deltas: readonly PlannedDelta[],
  timed: Timed,
): Promise<(() => Promise<void>)[]> {
  const { builtAt } = provenance;
  const archive = { version, builtAt, beside: await accompanyingFiles(root, version, builtAt), level: gzipLevel(level) };
  const patches = deltas.map((plan) => ({
    name: plan.patch,
    work: () => writeDelta(plan.source, join(out, plan.file), join(out, plan.patch), level),
  }));
  const compressed = ENCODINGS.flatMap((encoding) =>
    targets.map(({ name }) => {
      const file = releaseFileName(name);
      return { name: `${file}.${encoding}`, work: () => compressFile(join(out, file), encoding, level) };
    }),
  );
  const archives = targets.map(({ name }) => ({ name: archiveNames(version, name).file, work: () => archiveTarget(out, name, archive) }));
  return [...patches, ...compressed, ...archives].map(
    ({ name, work }) =>
      () =>
        timed(name, work),
  );
}

/**
 * Writes and signs the statements about the files of a release's folder: the sums, then the
 * manifest.
 */
export async function signRelease(dir: string, manifest: ReleaseManifest, key: SecretKey): Promise<void> {
  await writeFile(join(dir, SUMS), await sumsOf(dir, (name) => !name.startsWith(SUMS) && !name.startsWith(MANIFEST)));
  await signStatements(dir, manifest, key);
}

/** Signs the existing sums, and writes and signs the manifest. */
export async function signStatements(dir: string, manifest: ReleaseManifest, key: SecretKey): Promise<void> {
  const { version, expires_at } = manifest;
  await writeSigned(join(dir, SUMS), await readFile(join(dir, SUMS), "utf8"), key, { what: "sums", version, expiresAt: expires_at });
  await writeSigned(join(dir, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, key, {
    what: "manifest",
    version,
    expiresAt: expires_at,
  });
}

/** Reads the manifest of a release's folder. Throws PackagingError. */
export async function readRelease(dir: string): Promise<ReleaseManifest> {
  try {
    return parseManifest(await readFile(join(dir, MANIFEST), "utf8"));
  } catch (error) {
    if (error instanceof ReleaseFormatError) throw new PackagingError(`${join(dir, MANIFEST)}: ${error.message}`);
    throw new PackagingError(`${dir} is no folder of a release: it has no readable ${MANIFEST}`);
  }
}

interface OlderRelease {
  readonly dir: string;
  readonly manifest: ReleaseManifest;
}

async function readOlderRelease(dir: string, version: string): Promise<OlderRelease> {
  const manifest = await readRelease(dir);
  if (Bun.semver.order(manifest.version.slice(1), version.slice(1)) >= 0)
    throw new PackagingError(`--deltas-from: ${dir} is ${manifest.version}, which is not older than ${version}`);
  return { dir, manifest };
}

interface PlannedDelta {
  readonly target: string;
  readonly file: string;
  readonly patch: string;
  readonly source: string;
  readonly from: string;
  readonly older: ReleaseFile;
}

function deltaPlan({ dir, manifest }: OlderRelease, target: string): PlannedDelta[] {
  const older = manifest.targets[target];
  if (!older) return [];
  const file = releaseFileName(target);
  return [
    { target, file, older, from: manifest.version, patch: `${file}.from-${manifest.version}.zstpatch`, source: join(dir, older.url) },
  ];
}

async function describeBinary(out: string, target: string, planned: readonly PlannedDelta[]): Promise<ReleaseBinary> {
  const file = releaseFileName(target);
  const encodings: Record<string, ReleaseFile> = {};
  for (const encoding of ENCODINGS) encodings[encoding] = await describeFile(join(out, `${file}.${encoding}`));
  const best = Math.min(...Object.values(encodings).map(({ size }) => size));
  const deltas: ReleaseDelta[] = [];
  for (const plan of planned.filter((one) => one.target === target)) {
    const source = await describeFile(plan.source);
    if (source.sha256 !== plan.older.sha256) throw new PackagingError(`${plan.source} is not the file that its manifest speaks of`);
    const patch = await describeFile(join(out, plan.patch));
    if (patch.size < best) deltas.push({ ...patch, from: plan.from, from_sha256: source.sha256 });
    else await rm(join(out, plan.patch));
  }
  return { ...(await describeFile(join(out, file))), encodings, deltas };
}

/** Names of files that a build writes, including an interrupted one. */
const RELEASE_FILES = /^(svc-|\.building-|install\.|SHA256SUMS|manifest\.json|sourcemaps$|packages$)/;

async function emptyFolder(dir: string): Promise<void> {
  const names: string[] = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw new PackagingError(`--out=${dir}: ${error.code === "ENOTDIR" ? "this is a file" : error.message}`);
  });
  const other = names.find((name) => !RELEASE_FILES.test(name));
  if (other !== undefined) throw new PackagingError(`--out=${dir}: the folder holds ${other}, which is not of a release; name another one`);
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
}
