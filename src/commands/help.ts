import { join } from "node:path";
import { buildInfo } from "../build-info.ts";
import { defineCommand } from "../cli/command.ts";
import { describeLoadedTree } from "../cli/describe.ts";
import { listExtensions } from "../cli/extension.ts";
import { args, bool, path } from "../cli/flag.ts";
import { manualPages } from "../cli/manual.ts";
import { followPath, mayNameExtension } from "../cli/resolve.ts";
import { type HelpTopic, helpTopic, helpView } from "../cli/show-help.ts";
import type { Machine } from "../context/machine.ts";
import { UsageError } from "../errors/cli-error.ts";
import { choiceView, textView } from "../output/view.ts";
import { categories, commandTree } from "./index.ts";

/** The manual pages that were written, by their paths. */
interface Manual {
  readonly pages: readonly string[];
}

const topicView = helpView(commandTree, categories);
const manualView = textView(({ pages }: Manual) => pages.join("\n"));

export default defineCommand({
  summary: "Print help for svc or for one of its commands",
  category: "This tool",
  examples: [
    "svc help",
    "svc help apply",
    { run: "svc help --all --json", does: "the whole tree of commands as data" },
    { run: "svc help --manual ~/.local/share/man/man1", does: "manual pages, for `man svc` and `man svc-apply`" },
  ],
  args: { command: args("words of a command, for example `server start`") },
  flags: {
    all: bool("every command; with --json, arguments and flags too"),
    manual: path("write the manual pages of all commands and of lint's rules into this folder", { placeholder: "<folder>" }),
  },
  check({ all, command, manual }) {
    if (manual !== undefined && (all || command.length > 0))
      throw new UsageError("--manual writes all pages: it takes no command and no --all");
  },
  async run({ machine }, { command, all, manual }): Promise<HelpTopic | Manual> {
    if (manual !== undefined) return writeManual(machine, manual);
    const [word] = command;
    if (mayNameExtension(commandTree, word) && (await listExtensions(commandTree, machine)).some(({ name }) => name === word))
      throw new UsageError(`'svc ${word}' is an extension, which has its own help`, { hint: `Run \`svc ${word} --help\`.` });
    return helpTopic(commandTree, followPath(commandTree, command).path, { all, machine: async () => machine });
  },
  view: choiceView<HelpTopic | Manual>((shown) => ("pages" in shown ? manualView : topicView)),
});

async function writeManual(machine: Machine, folder: string): Promise<Manual> {
  const { builtAt, version } = buildInfo;
  const date = builtAt === "unknown" ? "" : builtAt.slice(0, 10);
  const pages = manualPages(await describeLoadedTree(commandTree), categories, { version, date });
  for (const [name, page] of pages) await machine.writeFile(join(folder, name), page);
  return { pages: [...pages.keys()].map((name) => join(folder, name)) };
}
