/** The options of a build: the command line of `build.ts`. */

import { parseArgs } from "node:util";
import { releaseVersion } from "../domain/release/manifest.ts";
import { RELEASE_TARGETS, type ReleaseTarget } from "../domain/release/target.ts";
import { PackagingError } from "./packaging-error.ts";

/** The options of a build. */
export interface BuildArguments {
  /** Builds one binary for development and tests, not a release. */
  readonly single: boolean;
  /** Writes a new signing key to this file, and does nothing else. */
  readonly newKey: string | undefined;
  /**
   * Signs this feed's statements about its latest release again, with a later expiry, and does
   * nothing else.
   */
  readonly renew: string | undefined;
  /** `v<major>.<minor>.<patch>`. */
  readonly version: string;
  /**
   * Undefined with `single` when none was named: then the binary is for this machine, and for no
   * target of a release.
   */
  readonly targets: readonly ReleaseTarget[] | undefined;
  /** Folder of the release, or the file with `single`; undefined for the default below `dist`. */
  readonly out: string | undefined;
  /** Folders of older releases. */
  readonly deltasFrom: readonly string[];
  /** Compression level of zstd, 1 to 19; gzip goes up to 9. */
  readonly level: number;
  /** Feed to add the release to. */
  readonly publish: string | undefined;
  /**
   * The URL from which the feed will be served, without a slash at the end; empty when it is
   * unknown.
   */
  readonly baseUrl: string;
  readonly expiresDays: number;
  /** Whether the binaries hold the table engine's library. */
  readonly tables: boolean;
}

/** Usage of `build.ts`. */
export const USAGE = `bun build.ts --single [--version=v0.2.0] [--targets=NAME] [--out=FILE]     one binary, dist/svc
bun build.ts [option...]                                                   a signed release, dist/<version>/
bun build.ts --new-key FILE                                                a signing key
bun build.ts --renew=FEED [--expires-days=N]                               sign a feed anew before what it says expires

  --version=v0.2.0       default: that of package.json
  --targets=a,b          default: all of them: ${RELEASE_TARGETS.map(({ name }) => name).join(", ")}
  --out=DIR              default: dist/<version>
  --deltas-from=DIR,...  older releases (folders with a manifest.json) to make patches from
  --level=N              of zstd, 1 to 19, default 19
  --publish=FEED         add the release to this feed
  --base-url=URL         where the feed will be served
  --without-tables       leave the table engine out (DuckDB): a smaller binary, without SQL and datasets
  --expires-days=N       how long the release is believed to be the latest, default 90

The signing key is in SVC_SIGNING_KEY (its text) or SVC_SIGNING_KEY_FILE; a release needs one.`;

/** Parses the command line. Relative paths stay relative. Throws PackagingError. */
export function parseBuildArguments(argv: readonly string[], packageVersion: string): BuildArguments {
  const { values } = parsed(argv);
  const version = releaseVersion(values.version ?? packageVersion);
  if (version === undefined) throw new PackagingError(`--version=${values.version ?? packageVersion}: a version is like v0.2.0`);
  const single = values.single ?? false;
  const targets = values.targets === undefined ? undefined : targetsNamed(values.targets);
  if (single && targets && targets.length !== 1) throw new PackagingError("--single builds one target");
  for (const option of ["publish", "deltas-from"] as const)
    if (single && values[option] !== undefined) throw new PackagingError(`--single makes no release, so --${option} means nothing with it`);
  return {
    single,
    newKey: values["new-key"],
    renew: values.renew,
    version,
    targets: targets ?? (single ? undefined : RELEASE_TARGETS),
    out: values.out,
    deltasFrom: values["deltas-from"]?.split(",").filter((dir) => dir !== "") ?? [],
    level: wholeNumber("level", values.level ?? "19", 1, 19),
    publish: values.publish,
    baseUrl: baseUrl(values["base-url"] ?? ""),
    expiresDays: wholeNumber("expires-days", values["expires-days"] ?? "90", 1, 3650),
    tables: !(values["without-tables"] ?? false),
  };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      strict: true,
      options: {
        single: { type: "boolean" },
        "new-key": { type: "string" },
        renew: { type: "string" },
        version: { type: "string" },
        targets: { type: "string" },
        out: { type: "string" },
        "deltas-from": { type: "string" },
        level: { type: "string" },
        publish: { type: "string" },
        "base-url": { type: "string" },
        "expires-days": { type: "string" },
        "without-tables": { type: "boolean" },
      },
    });
  } catch (error) {
    throw new PackagingError(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
  }
}

function targetsNamed(names: string): readonly ReleaseTarget[] {
  return [...new Set(names.split(","))].map((name) => {
    const target = RELEASE_TARGETS.find((one) => one.name === name);
    if (!target)
      throw new PackagingError(`--targets: there is no target "${name}"; there are ${RELEASE_TARGETS.map((one) => one.name).join(", ")}`);
    return target;
  });
}

function wholeNumber(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most)
    throw new PackagingError(`--${option}=${text}: a whole number from ${least} to ${most}`);
  return value;
}

function baseUrl(text: string): string {
  if (text !== "" && !/^https?:\/\/[^/\s"'\\$`]+(\/[^\s"'\\$`?#]*)?$/.test(text))
    throw new PackagingError(`--base-url=${text}: an http or https URL without a query`);
  return text.replace(/\/+$/, "");
}
