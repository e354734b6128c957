import { defineCommand } from "../cli/command.ts";
import { optionalArg } from "../cli/flag.ts";
import { didYouMean } from "../domain/closest.ts";
import { pages } from "../domain/docs/baked-pages.ts";
import { titleOf } from "../domain/docs/sections.ts";
import { UsageError } from "../errors/cli-error.ts";
import { choiceView, tableView, textView } from "../output/view.ts";

/** A page, or the list of them. */
type Shown =
  | { readonly name: string; readonly text: string }
  | { readonly pages: readonly { readonly name: string; readonly title: string }[] };

const pageView = textView(({ text }: Extract<Shown, { text: string }>) => text.trimEnd(), undefined, { long: true });
const listView = tableView({
  rows: (shown: Extract<Shown, { pages: unknown }>) => shown.pages,
  columns: [
    { header: "Page", cell: ({ name }) => name },
    { header: "Title", cell: ({ title }) => title, flexible: true },
  ],
  things: "pages",
});

export default defineCommand({
  summary: "Read the pages of the documentation",
  category: "This tool",
  description:
    "The pages come with the program, so they are those of this version and need no network. `svc help WORDS` searches them too.",
  examples: ["svc docs", "svc docs streams"],
  args: { page: optionalArg("name of a page; without one the pages are listed") },
  async run(_, { page }): Promise<Shown> {
    if (page === undefined) return { pages: Object.entries(pages).map(([name, text]) => ({ name, title: titleOf(text) })) };
    const text = Object.hasOwn(pages, page) ? pages[page] : undefined;
    if (text !== undefined) return { name: page, text };
    throw new UsageError(`there is no page '${page}'`, { hint: didYouMean(page, Object.keys(pages)) || "`svc docs` lists the pages." });
  },
  view: choiceView<Shown>((shown) => ("text" in shown ? pageView : listView)),
});
