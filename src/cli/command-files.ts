/**
 * The mapping of files below `src/commands` to commands: the path of the file is the path of the
 * command.
 */

/**
 * The role of a file below `src/commands`: a command, the heading of a group, or code that commands
 * share (a view, flags, the tree).
 */
export type CommandFileRole = "command" | "group" | "view" | "flags" | "tree";

/** A file below `src/commands`. */
export interface CommandFile {
  readonly role: CommandFileRole;
  /** Words after `svc`; for a view or flags, those of the folder that contains the file. */
  readonly path: readonly string[];
}

/**
 * The role and words of a file, by its path from `src/commands`: `x.ts` and `x/index.ts` are `svc
 * x`, `x/y.ts` is `svc x y`, `x/group.ts` is the heading of `svc x` where that runs nothing itself,
 * `view.ts` and `*-view.ts` are views, `flags.ts` and `*-flags.ts` are shared flags, and `index.ts`
 * is the tree.
 */
export function commandFile(file: string): CommandFile {
  const words = file.slice(0, -".ts".length).split("/");
  const name = words.at(-1) ?? "";
  const folder = words.slice(0, -1);
  if (name === "index") return folder.length === 0 ? { role: "tree", path: [] } : { role: "command", path: folder };
  if (name === "group") return { role: "group", path: folder };
  if (/(^|-)view$/.test(name)) return { role: "view", path: folder };
  if (/(^|-)flags$/.test(name)) return { role: "flags", path: folder };
  return { role: "command", path: words };
}
