import { buildInfo } from "../build-info.ts";
import { defineCommand } from "../cli/command.ts";
import { bool } from "../cli/flag.ts";
import type { Context } from "../context/context.ts";
import { platformName } from "../domain/release/target.ts";
import { textView } from "../output/view.ts";

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
}

/** Compares this build with the latest release. */
async function check({ releases }: Context): Promise<Pick<VersionData, "latest" | "up_to_date">> {
  if (!(await releases.hasOrigin())) return { latest: null, up_to_date: null };
  const { latest } = await releases.freshFeed();
  return { latest, up_to_date: Bun.semver.order(buildInfo.version, latest) >= 0 };
}

function asText(data: VersionData): string {
  const lines = [`Version: ${data.version}`, `Platform: ${data.platform}`, `Hash: ${data.hash}`, `Build Time: ${data.build_time}`];
  if (data.latest === null) lines.push("Latest: unknown (this build was not told where releases come from)");
  else if (data.latest !== undefined)
    lines.push(`Latest: ${data.latest} (${data.up_to_date ? "this build is up to date" : "newer than this build: run `svc update`"})`);
  return lines.join("\n");
}

export default defineCommand({
  summary: "Print build information",
  category: "This tool",
  examples: ["svc version", { run: "svc version --tag-only", does: "only the tag, for scripts" }],
  flags: {
    tagOnly: bool("only the tag"),
    check: bool("compare with the latest release"),
  },
  async run(context, { tagOnly, check: compare }): Promise<{ tagOnly: boolean; data: VersionData }> {
    const { platform, arch } = context.surroundings;
    const { version, commit, builtAt, target } = buildInfo;
    const found = compare ? await check(context) : {};
    return { tagOnly, data: { version, platform: target || platformName(platform, arch), hash: commit, build_time: builtAt, ...found } };
  },
  view: textView(
    ({ tagOnly, data }: { tagOnly: boolean; data: VersionData }) => (tagOnly ? data.version : asText(data)),
    ({ data }) => data,
  ),
});
