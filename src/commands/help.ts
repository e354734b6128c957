import { join } from "node:path";
import { buildInfo } from "../build-info.ts";
import { defineCommand } from "../cli/command.ts";
import { describeLoadedTree } from "../cli/describe.ts";
import { listExtensions } from "../cli/extension.ts";
import { args, bool, path } from "../cli/flag.ts";
import { type HelpEntry, type HelpHit, searchHelp } from "../cli/help-search.ts";
import { manualPages } from "../cli/manual.ts";
import { followPath, mayNameExtension } from "../cli/resolve.ts";
import { type HelpTopic, helpTopic, helpView } from "../cli/show-help.ts";
import type { Machine } from "../context/machine.ts";
import { escapeControls } from "../domain/name.ts";
import { UsageError } from "../errors/cli-error.ts";
import { choiceView, textView } from "../output/view.ts";
import { helpHitsView } from "./help-search-view.ts";
import { categories, commandTree } from "./index.ts";

/** The manual pages that were written, by their paths. */
interface Manual {
  readonly pages: readonly string[];
}

/** What was found for words that name no command. */
interface Found {
  readonly hits: readonly HelpHit[];
}

const topicView = helpView(commandTree, categories);
const manualView = textView(({ pages }: Manual) => pages.join("\n"));

export default defineCommand({
  summary: "Print help for svc or for one of its commands",
  category: "This tool",
  description:
    "Words that name no command are searched for: in the summaries, flags and examples of all commands, in the pages of the documentation, and in the rules " +
    "of lint. --find searches for words that name one, too.",
  examples: [
    "svc help",
    "svc help apply",
    { run: "svc help stale values", does: "What there is about them: commands, pages and rules" },
    { run: "svc help --all --json", does: "the whole tree of commands as data" },
    { run: "svc help --manual ~/.local/share/man/man1", does: "manual pages, for `man svc` and `man svc-apply`" },
  ],
  args: { command: args("words of a command, for example `server start`, or words to search for") },
  flags: {
    all: bool("every command; with --json, arguments and flags too"),
    find: bool("search for the words although they name a command"),
    manual: path("write the manual pages of all commands and of lint's rules into this folder", { placeholder: "<folder>" }),
  },
  check({ all, command, manual, find }) {
    if (manual !== undefined && (all || find || command.length > 0))
      throw new UsageError("--manual writes all pages: it takes no command, no --all and no --find");
    if (find && command.length === 0)
      throw new UsageError("--find needs words to search for", { hint: "For example: svc help --find cache" });
    if (find && all) throw new UsageError("--find and --all are not used together");
  },
  async run({ machine }, { command, all, manual, find }): Promise<HelpTopic | Manual | Found> {
    if (find) return { hits: await found(command) };
    if (manual !== undefined) return writeManual(machine, manual);
    const [word] = command;
    if (mayNameExtension(commandTree, word) && (await listExtensions(commandTree, machine)).some(({ name }) => name === word))
      throw new UsageError(`'svc ${word}' is an extension, which has its own help`, { hint: `Run \`svc ${word} --help\`.` });
    const machineOf = async () => machine;
    try {
      return await helpTopic(commandTree, followPath(commandTree, command).path, { all, machine: machineOf });
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      const hits = await found(command);
      if (hits.length > 0) return { hits };
      if (error.message.includes("did you mean")) throw error;
      throw new UsageError(`no command, page or rule has '${escapeControls(command.join(" "))}'`, {
        hint: "Run `svc --help` to see the commands, and `svc docs --list` to see the pages.",
      });
    }
  },
  view: choiceView<HelpTopic | Manual | Found>((shown) => ("hits" in shown ? helpHitsView : "pages" in shown ? manualView : topicView)),
});

async function found(words: readonly string[]): Promise<readonly HelpHit[]> {
  const [{ readSite }, { sectionsOf }, { RULES }] = await Promise.all([
    import("../docs/site.ts"),
    import("../docs/sections.ts"),
    import("../domain/rules/rules.ts"),
  ]);
  const { pages } = await readSite();
  const guides = pages.filter(({ section }) => section === "Guides" || section === "Cheat sheets");
  const sections = guides.flatMap(({ markdown, path: name, title }) =>
    sectionsOf(markdown).map(({ heading, paragraphs }): HelpEntry => {
      const summary = heading === title ? title : `${title}: ${heading}`;
      const fields = [{ text: summary, weight: 5 }, ...paragraphs.map((text) => ({ text, weight: 2 }))];
      return { value: { kind: "page", run: `svc docs ${name}`, summary }, fields };
    }),
  );
  const rules = RULES.map(({ code, id, means, title }): HelpEntry => {
    const fields = [
      { text: title, weight: 3 },
      { text: id, weight: 3 },
      { text: means, weight: 1 },
    ];
    return { value: { kind: "rule", run: `svc lint --explain ${code}`, summary: title }, fields };
  });
  return searchHelp((await describeLoadedTree(commandTree)).commands, [...sections, ...rules], words.join(" "));
}

async function writeManual(machine: Machine, folder: string): Promise<Manual> {
  const { builtAt, version } = buildInfo;
  const date = builtAt === "unknown" ? "" : builtAt.slice(0, 10);
  const pages = manualPages(await describeLoadedTree(commandTree), categories, { version, date });
  for (const [name, page] of pages) await machine.writeFile(join(folder, name), page);
  return { pages: [...pages.keys()].map((name) => join(folder, name)) };
}
