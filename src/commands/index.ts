/**
 * The static tree of commands: enough to find a command, print root help and complete words without loading any of them.
 *
 * It is made of the files beside it when the program is bundled, or started from source: `svc x` is `src/commands/x.ts`, `svc x y` is
 * `src/commands/x/y.ts`, and the command that a group runs by itself (`svc features`) is `src/commands/x/index.ts`; a group that runs nothing has
 * `x/group.ts` for a heading. Each file has one default export, made by `defineCommand` or `defineGroup`. A new command is listed nowhere.
 */

import type { AnyCommand } from "../cli/command.ts";
import { plantTree } from "../cli/tree.ts";
import { treeFacts } from "../cli/tree-facts.ts" with { type: "macro" };
import { importModule } from "../modules.ts";

/** Headings of the root help, in order. */
export const categories = ["Set up", "Build and deploy", "Query and explore", "Server and account", "This tool"] as const;

/** What help lists first, in the order in which most people need it; all other words follow by name. */
const ORDER = {
  categories,
  nouns: [
    ...["login", "logout", "environment", "config", "init", "project"],
    ...["apply", "lint", "lsp", "files", "branch", "source", "diff"],
    ...["query", "features", "resolvers"],
    ...["server", "healthcheck", "user", "dashboard", "doctor"],
    ...["version", "update", "releases", "changelog", "completion", "help"],
  ],
  verbs: ["list", "search", "resolve", "start", "status", "stop", "logs"],
};

/** What the macro found; the bundler awaits it. */
const facts = treeFacts("../commands") as never as Awaited<ReturnType<typeof treeFacts>>;

/** Every command by its first word. */
export const commandTree = plantTree(facts, ORDER, (file) => importModule(`commands/${file}`) as Promise<{ default: AnyCommand }>);
