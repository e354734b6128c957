/**
 * The manifest of a release: its builds, with the size and SHA-256 of every file, so that a checked
 * signature of the manifest vouches for all files. Its ideas are those of The Update Framework
 * (theupdateframework.github.io/specification): an expiry against being held back, a version
 * against being rolled back, sizes against endless downloads.
 */

/** A file beside the manifest. */
export interface ReleaseFile {
  /** Relative to the manifest, one file name without a slash; or an absolute https URL. */
  readonly url: string;
  /** Lower-case hex of the file's SHA-256. */
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
}

/** A `zstd --patch-from` patch that makes the target's file from that of an older release. */
export interface ReleaseDelta extends ReleaseFile {
  /** The older release, `v<major>.<minor>.<patch>`. */
  readonly from: string;
  /** SHA-256 of the file it applies to: a build changed by somebody else is never patched. */
  readonly from_sha256: string;
}

/** One target's binary. */
export interface ReleaseBinary extends ReleaseFile {
  /** The same file compressed, by encoding: `zst`, `gz`. */
  readonly encodings: Readonly<Record<string, ReleaseFile>>;
  readonly deltas: readonly ReleaseDelta[];
}

/** A release. */
export interface ReleaseManifest {
  /** 1; a reader refuses others. */
  readonly format: 1;
  /** `v<major>.<minor>.<patch>`. */
  readonly version: string;
  /** Git commit. */
  readonly commit: string;
  /** RFC 3339, UTC. */
  readonly built_at: string;
  /** RFC 3339, UTC: from then on this manifest is no longer taken for the latest. */
  readonly expires_at: string;
  /**
   * The oldest build that can update itself to this one; older ones are told to run the installer.
   */
  readonly min_version: string;
  /** By target name. */
  readonly targets: Readonly<Record<string, ReleaseBinary>>;
}

/** One line of the release feed. */
export interface ReleaseEntry {
  readonly version: string;
  /** The released component: `svc` is the binary. */
  readonly component: string;
  /** RFC 3339, UTC. */
  readonly published_at: string;
  /** Markdown. */
  readonly notes: string;
  /** The manifest, relative to the feed. */
  readonly manifest: string;
}

/** `index.json` at the root of a release host: every release, newest first. */
export interface ReleaseFeed {
  readonly format: 1;
  /** Version of the newest release. */
  readonly latest: string;
  /** RFC 3339, UTC: from then on this feed is not believed about what is latest. */
  readonly expires_at: string;
  readonly releases: readonly ReleaseEntry[];
}

/** The error of a manifest or feed that cannot be read; the message names the field. */
export class ReleaseFormatError extends Error {
  override readonly name = "ReleaseFormatError";
}

type Fields = Readonly<Record<string, unknown>>;

const VERSION = /^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/;

/**
 * `v<major>.<minor>.<patch>` of a version as typed, with or without `v`; undefined when it is none.
 */
export function releaseVersion(text: string): string | undefined {
  const version = text.startsWith("v") ? text : `v${text}`;
  return VERSION.test(version) ? version : undefined;
}

/**
 * The manifest that a text holds, read strictly. Throws ReleaseFormatError. The signature is not
 * checked here: callers check it first.
 */
export function parseManifest(text: string): ReleaseManifest {
  const fields = parseObject(text, "manifest");
  checkFormat(fields, "manifest");
  const targets: Record<string, ReleaseBinary> = {};
  for (const [name, value] of Object.entries(objectAt(fields, "targets", "manifest"))) {
    if (!/^[a-z0-9-]+$/.test(name)) throw new ReleaseFormatError(`manifest: "${name}" is no name of a target`);
    targets[name] = parseBinary(value, `targets.${name}`);
  }
  return {
    format: 1,
    version: versionAt(fields, "version", "manifest"),
    commit: textAt(fields, "commit", "manifest"),
    built_at: timeAt(fields, "built_at", "manifest"),
    expires_at: timeAt(fields, "expires_at", "manifest"),
    min_version: versionAt(fields, "min_version", "manifest"),
    targets,
  };
}

/** The feed that a text holds, read strictly. Throws ReleaseFormatError. */
export function parseFeed(text: string): ReleaseFeed {
  const fields = parseObject(text, "feed");
  checkFormat(fields, "feed");
  return {
    format: 1,
    latest: versionAt(fields, "latest", "feed"),
    expires_at: timeAt(fields, "expires_at", "feed"),
    releases: listAt(fields, "releases", "feed").map((value, index) => {
      const where = `releases[${index}]`;
      const entry = asObject(value, where);
      return {
        version: versionAt(entry, "version", where),
        component: textAt(entry, "component", where),
        published_at: timeAt(entry, "published_at", where),
        notes: textAt(entry, "notes", where),
        manifest: relativePathAt(entry, "manifest", where),
      };
    }),
  };
}

function parseBinary(value: unknown, where: string): ReleaseBinary {
  const fields = asObject(value, where);
  const encodings = Object.entries(objectAt(fields, "encodings", where)).map(([name, file]) => [
    name,
    parseFile(file, `${where}.encodings.${name}`),
  ]);
  return {
    ...parseFile(fields, where),
    encodings: Object.fromEntries(encodings),
    deltas: listAt(fields, "deltas", where).map((delta, index) => {
      const at = `${where}.deltas[${index}]`;
      const parts = asObject(delta, at);
      return { ...parseFile(parts, at), from: versionAt(parts, "from", at), from_sha256: hashAt(parts, "from_sha256", at) };
    }),
  };
}

function parseFile(value: unknown, where: string): ReleaseFile {
  const fields = asObject(value, where);
  const size = fields.size;
  if (typeof size !== "number" || !Number.isSafeInteger(size) || size < 0)
    throw new ReleaseFormatError(`${where}.size is no number of bytes`);
  const url = textAt(fields, "url", where);
  if (!/^[\w][\w.-]*$/.test(url) && !url.startsWith("https://"))
    throw new ReleaseFormatError(`${where}.url is neither a file name nor an https URL`);
  return { url, sha256: hashAt(fields, "sha256", where), size };
}

function parseObject(text: string, where: string): Fields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ReleaseFormatError(`the ${where} is not JSON`);
  }
  return asObject(value, where);
}

function checkFormat(fields: Fields, where: string): void {
  if (fields.format !== 1) throw new ReleaseFormatError(`${where}.format is ${JSON.stringify(fields.format)}; this build reads format 1`);
}

function asObject(value: unknown, where: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new ReleaseFormatError(`${where} is no object`);
  return value as Fields;
}

function objectAt(fields: Fields, key: string, where: string): Fields {
  return asObject(fields[key], `${where}.${key}`);
}

function listAt(fields: Fields, key: string, where: string): readonly unknown[] {
  const value = fields[key];
  if (!Array.isArray(value)) throw new ReleaseFormatError(`${where}.${key} is no list`);
  return value;
}

function textAt(fields: Fields, key: string, where: string): string {
  const value = fields[key];
  if (typeof value !== "string") throw new ReleaseFormatError(`${where}.${key} is no text`);
  return value;
}

function versionAt(fields: Fields, key: string, where: string): string {
  const value = textAt(fields, key, where);
  if (!VERSION.test(value)) throw new ReleaseFormatError(`${where}.${key} is no version like v1.12.4`);
  return value;
}

function timeAt(fields: Fields, key: string, where: string): string {
  const value = textAt(fields, key, where);
  if (!/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) || Number.isNaN(Date.parse(value)))
    throw new ReleaseFormatError(`${where}.${key} is no UTC time`);
  return value;
}

function hashAt(fields: Fields, key: string, where: string): string {
  const value = textAt(fields, key, where);
  if (!/^[0-9a-f]{64}$/.test(value)) throw new ReleaseFormatError(`${where}.${key} is no SHA-256 in hex`);
  return value;
}

function relativePathAt(fields: Fields, key: string, where: string): string {
  const value = textAt(fields, key, where);
  if (!/^[\w][\w.-]*(\/[\w][\w.-]*)*$/.test(value)) throw new ReleaseFormatError(`${where}.${key} is no path below the feed`);
  return value;
}
