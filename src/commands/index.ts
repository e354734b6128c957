/**
 * The static tree of commands: enough to find a command, print root help and complete words without
 * loading any of them.
 *
 * It is made from the files beside this one when the program is bundled, or started from source:
 * `svc x` is `src/commands/x.ts`, `svc x y` is `src/commands/x/y.ts`, and the command that a group
 * runs by itself (`svc features`) is `src/commands/x/index.ts`; a group that runs nothing has its
 * heading in `x/group.ts`. Each file has one default export, made by `defineCommand` or
 * `defineGroup`. A new command is listed nowhere; `order.json` says which ones help lists first,
 * before the others by name.
 */

import { facts } from "../cli/baked-command-tree.ts";
import type { AnyCommand } from "../cli/command.ts";
import { attachLoaders } from "../cli/tree.ts";
import { importModule } from "../modules.ts";

/** Headings of the root help, in order. */
export const { categories } = facts;

/** Every command by its first word. */
export const commandTree = attachLoaders(facts.tree, (file) => importModule(`commands/${file}`) as Promise<{ default: AnyCommand }>);
