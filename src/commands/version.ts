import { buildInfo } from "../build-info.ts";
import { defineCommand } from "../cli/command.ts";
import { bool } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { escapeControls } from "../domain/name.ts";
import { platformName } from "../domain/release/target.ts";
import { UsageError } from "../errors/cli-error.ts";
import { textView } from "../output/view.ts";

/** A package that a program is made with. */
interface PackageData {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** The text of its licence; absent of a server's. */
  readonly notice?: string;
}

/** The data of `svc version`. */
interface VersionData {
  readonly version: string;
  readonly platform: string;
  readonly hash: string;
  readonly build_time: string;
  /** With --check: the latest version. */
  readonly latest?: string | null;
  /** Null when no source of releases is configured. */
  readonly up_to_date?: boolean | null;
  /** With --licenses, or of a server. */
  readonly packages?: readonly PackageData[];
}

/** What was asked for, and what of it people see. */
interface Shown {
  readonly tagOnly: boolean;
  readonly licenses: boolean;
  readonly data: VersionData;
}

/** Compares this build with the latest release. */
async function check({ releases }: Context): Promise<Pick<VersionData, "latest" | "up_to_date">> {
  if (!(await releases.hasOrigin())) return { latest: null, up_to_date: null };
  const { latest } = await releases.freshFeed();
  return { latest, up_to_date: Bun.semver.order(buildInfo.version, latest) >= 0 };
}

/** What the server runs. */
async function ofServer({ api }: Context): Promise<VersionData> {
  const { buildTime, hash, packages, platform, version } = await (await api.health()).getVersion({});
  const shown = packages.map(({ name, version: of, license }) => ({ name, version: of, license }));
  return { version, platform, hash, build_time: buildTime, packages: shown };
}

function asText({ data, licenses }: Shown): string {
  if (licenses) return (data.packages ?? []).map(packageText).join("\n\n");
  const lines = [`Version: ${data.version}`, `Platform: ${data.platform}`, `Hash: ${data.hash}`, `Build Time: ${data.build_time}`];
  if (data.latest === null) lines.push("Latest: unknown (this build was not told where releases come from)");
  else if (data.latest !== undefined)
    lines.push(`Latest: ${data.latest} (${data.up_to_date ? "this build is up to date" : "newer than this build: run `svc update`"})`);
  return lines.map(escapeControls).join("\n");
}

function packageText({ license, name, notice = "", version }: PackageData): string {
  const head = escapeControls(`${name} ${version}: ${license || "no licence is stated"}`);
  return notice === "" ? head : `${head}\n\n${notice.replaceAll(/^(?=.)/gm, "    ")}`;
}

export default defineCommand({
  summary: "Print build information",
  category: "This tool",
  examples: [
    "svc version",
    { run: "svc version --tag-only", does: "only the tag, for scripts" },
    { run: "svc version --server", does: "What the server runs" },
    { run: "svc version --licenses", does: "The packages in this program, and their licences" },
  ],
  flags: {
    tagOnly: bool("only the tag"),
    check: bool("compare with the latest release"),
    server: bool("the program that the server runs; --json has its packages"),
    licenses: bool("the packages that this program is made with, and the texts of their licences"),
  },
  check({ check: compare, licenses, server, tagOnly }) {
    if (server && (compare || licenses)) throw new UsageError("--server goes with --tag-only alone");
    if (licenses && (compare || tagOnly)) throw new UsageError("--licenses goes with no other flag");
  },
  async run(context, { check: compare, licenses, server, tagOnly }): Promise<Shown> {
    if (server) return { tagOnly, licenses, data: await ofServer(context) };
    const { platform, arch } = context.surroundings;
    const { version, commit, builtAt, target } = buildInfo;
    const found = compare ? await check(context) : {};
    const made = licenses ? { packages: (await import("../baked-packages.ts")).packages() } : {};
    const own = { version, platform: target || platformName(platform, arch), hash: commit, build_time: builtAt };
    return { tagOnly, licenses, data: { ...own, ...found, ...made } };
  },
  view: textView(
    (shown: Shown) => (shown.tagOnly ? shown.data.version : asText(shown)),
    ({ data }) => data,
    { long: true },
  ),
});
