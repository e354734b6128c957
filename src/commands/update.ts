import { dirname, join } from "node:path";
import { defineCommand } from "../cli/command.ts";
import { bool, text } from "../cli/flag.ts";
import { svcHome } from "../config/home.ts";
import type { Context } from "../context/context.ts";
import { escapeControls } from "../domain/name.ts";
import { releaseVersion } from "../domain/release/manifest.ts";
import { sizeText } from "../domain/size.ts";
import { UsageError } from "../errors/cli-error.ts";
import { choiceView, tableView, textView } from "../output/view.ts";
import type { InstalledBuild } from "../release/install-folder.ts";
import type { CurrentBuild } from "../release/releases.ts";
import { confirm, confirmFlags } from "./confirm-flags.ts";

/** The result of `svc update`, or with --list the releases. */
type UpdateData =
  | { readonly kind: "current"; readonly build: CurrentBuild }
  | { readonly kind: "list"; readonly builds: readonly InstalledBuild[] }
  | { readonly kind: "pruned"; readonly removed: readonly InstalledBuild[] };

/** Removes unneeded builds when the user agrees. */
async function prune(context: Context, force: boolean): Promise<UpdateData> {
  const { releases } = context;
  const builds = await releases.prunable();
  if (builds.length === 0) return { kind: "pruned", removed: [] };
  const size = sizeText(builds.reduce((sum, build) => sum + build.size, 0));
  const names = builds.map(({ version }) => version).join(", ");
  await confirm(context, { force }, `Remove ${names} (${size})?`);
  return { kind: "pruned", removed: await releases.prune(builds) };
}

/** Warns when PATH leads to another svc than the build that was just made current. */
function noteOtherSvc({ progress, surroundings }: Context, { link, path, found_on_path: found }: CurrentBuild): void {
  if (found === link) return;
  const folder = link.slice(0, Math.max(link.lastIndexOf("/"), link.lastIndexOf("\\")));
  if (found !== null) progress.note(`PATH leads to another svc, ${found}: put ${folder} in front of it.`);
  else if (surroundings.execPath !== path) progress.note(`${folder} is not on PATH.`);
}

/**
 * Rewrites the manual pages beside the installer's folder of builds, using the build that is now
 * current.
 */
async function renewManual({ machine, progress, surroundings }: Context, { link, path, version }: CurrentBuild): Promise<void> {
  const home = svcHome(surroundings);
  const folder = join(home, "share/man/man1");
  if (dirname(link) !== join(home, "bin") || !(await machine.exists(join(folder, "svc.1")))) return;
  const { exitCode } = await machine.run([path, "help", "--manual", folder]);
  if (exitCode !== 0) progress.note(`The manual pages in ${folder} are not those of ${version}, which writes none.`);
}

function asText({ version, platform, hash, build_time, os, arch, path, changed, previous }: CurrentBuild): string {
  const lines = [
    `Version: ${version}`,
    `Platform: ${platform}`,
    `Hash: ${hash}`,
    `Build Time: ${build_time}`,
    `OS: ${os}`,
    `Arch: ${arch}`,
    `Path: ${path}`,
  ];
  const before = previous === null || previous === version ? "" : ` (it was ${previous}; \`svc update --rollback\` goes back)`;
  lines.push(changed ? `svc ${version} is current now${before}.` : `svc ${version} is current already.`);
  return lines.map(escapeControls).join("\n");
}

const currentView = textView<UpdateData>(
  (data) => (data.kind === "current" ? asText(data.build) : ""),
  (data) => (data.kind === "current" ? data.build : data),
);

const listView = tableView<UpdateData, InstalledBuild>({
  rows: (data) => (data.kind === "list" ? data.builds : []),
  columns: [
    { header: "Version", cell: ({ version }) => version },
    { header: "Size", cell: ({ size }) => sizeText(size), align: "right" },
    { header: "Installed", cell: ({ installed_at }) => installed_at.slice(0, 10) },
    { header: "Current", cell: ({ current }) => (current ? "✓" : ""), style: (cell, style) => style.green(cell) },
  ],
  things: "installed builds",
  json: (data) => (data.kind === "list" ? { builds: data.builds } : data),
});

const prunedView = textView<UpdateData>(
  (data) => {
    const removed = data.kind === "pruned" ? data.removed : [];
    if (removed.length === 0) return "There is nothing to remove: the current build and the one before it are kept.";
    return removed.map(({ version, size }) => `Removed ${version} (${sizeText(size)}).`).join("\n");
  },
  (data) => (data.kind === "pruned" ? { removed: data.removed } : data),
);

export default defineCommand({
  summary: "Install the latest build of svc, or the one you name",
  category: "This tool",
  description:
    "What is installed was signed by the key that this build carries. Builds that were current before stay in their folder, and a build that does not run never " +
    "becomes current. Releases come from --from, else SVC_RELEASES, else where this svc was installed from.\n\n" +
    "Once a day a command on a terminal looks for a newer version in the background. Turn that off with --no-update-check, SVC_NO_UPDATE_CHECK, or " +
    "`updateCheck: false` in the config file.",
  examples: [
    "svc update",
    { run: "svc update --version v1.12.4", does: "exactly this version, older or newer" },
    { run: "svc update --from /media/releases", does: "from a folder, without a network" },
    { run: "svc update --rollback", does: "back to the build before" },
    { run: "svc update --prune", does: "remove builds, but for the current one and the one before" },
  ],
  flags: {
    version: text("version to install, like v1.12.4", { placeholder: "<version>", defaultText: "latest" }),
    from: text("release host or folder to take it from", { placeholder: "<url|dir>" }),
    list: bool("list the installed builds"),
    rollback: bool("go back to the build that was current before"),
    prune: bool("remove builds, but for the current one and the one before"),
    ...confirmFlags,
  },
  check({ version, from, list, rollback, prune: pruning, force }) {
    if ([list, rollback, pruning].filter(Boolean).length > 1) throw new UsageError("--list, --rollback and --prune exclude each other");
    if ((list || rollback || pruning) && (version !== undefined || from !== undefined))
      throw new UsageError("--version and --from are for installing: --list, --rollback and --prune are about builds that are installed");
    if (force && !pruning) throw new UsageError("--force is for --prune: nothing else asks");
    if (version !== undefined && version !== "latest" && releaseVersion(version) === undefined)
      throw new UsageError(`--version: ${version} is no version like v1.12.4`);
  },
  async run(context, { version, from, list, rollback, prune: pruning, force }): Promise<UpdateData> {
    const { releases } = context;
    if (list) return { kind: "list", builds: await releases.installed() };
    if (pruning) return prune(context, force);
    const wanted = version === undefined || version === "latest" ? undefined : releaseVersion(version);
    const build = rollback ? await releases.rollback() : await releases.update({ version: wanted, from });
    if (build.changed) await renewManual(context, build);
    noteOtherSvc(context, build);
    return { kind: "current", build };
  },
  view: choiceView<UpdateData>(({ kind }) => (kind === "list" ? listView : kind === "pruned" ? prunedView : currentView)),
});
