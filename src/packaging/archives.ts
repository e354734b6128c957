/**
 * The archives of a release: binary, licence, readme, completions, manual and the contract in one
 * folder.
 */

import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { completionScript } from "../cli/completion-script.ts";
import { describeLoadedTree } from "../cli/describe.ts";
import { manualPages } from "../cli/manual.ts";
import type { Tree } from "../cli/resolve.ts";
import { protoFiles } from "../contract/baked-proto-files.ts";
import { type ArchivedFile, writeArchive } from "../disk/archive-file.ts";
import { releaseFileName } from "../domain/release/target.ts";

/** Names of an archive and of the one folder in it. */
export function archiveNames(version: string, target: string): { readonly file: string; readonly folder: string } {
  const folder = `svc-${version}-${target}`;
  return { folder, file: `${folder}.${target.startsWith("windows-") ? "zip" : "tar.gz"}` };
}

/** The files of every archive beside the binary. `builtAt` is RFC 3339. */
export async function accompanyingFiles(root: string, version: string, builtAt: string): Promise<ArchivedFile[]> {
  const { categories, commandTree } = await import("../commands/index.ts");
  const tree: Tree = commandTree;
  const pages = manualPages(await describeLoadedTree(tree), categories, { version, date: builtAt.slice(0, 10) });
  const texts: readonly (readonly [string, string])[] = [
    ["LICENSE", await readFile(join(root, "LICENSE"), "utf8")],
    ["README.md", await readFile(join(root, "README.md"), "utf8")],
    ["completions/_svc", completionScript("zsh")],
    ["completions/svc.bash", completionScript("bash")],
    ["completions/svc.fish", completionScript("fish")],
    ["completions/svc.ps1", completionScript("powershell")],
    ...[...pages].map(([name, page]) => [`man/man1/${name}`, page] as const),
    ...Object.entries(protoFiles()).map(([name, text]) => [`proto/${name}`, text] as const),
  ];
  return texts.map(([path, content]) => ({ path, content: Buffer.from(content), mode: 0o644 }));
}

/** Writes the archive of one target beside its binary in `dir`. */
export async function archiveTarget(
  dir: string,
  target: string,
  order: { readonly version: string; readonly builtAt: string; readonly beside: readonly ArchivedFile[]; readonly level: number },
): Promise<void> {
  const { file, folder } = archiveNames(order.version, target);
  await mkdir(dir, { recursive: true });
  const name = target.startsWith("windows-") ? "svc.exe" : "svc";
  const binary = { path: name, content: await readFile(join(dir, releaseFileName(target))), mode: 0o755 };
  const files = [binary, ...order.beside].map((one) => ({ ...one, path: `${folder}/${one.path}` }));
  await writeArchive(join(dir, file), { files, time: Date.parse(order.builtAt), level: order.level });
}
