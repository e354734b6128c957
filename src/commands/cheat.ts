import { defineCommand } from "../cli/command.ts";
import { optionalArg } from "../cli/flag.ts";
import { type Page, withFileNames } from "../docs/page.ts";
import { readSite } from "../docs/site.ts";
import { didYouMean } from "../domain/closest.ts";
import { UsageError } from "../errors/cli-error.ts";
import { markdownText } from "../output/markdown.ts";
import { choiceView, tableView, textView } from "../output/view.ts";

const FOLDER = "cheat/";

/** A sheet, or all of them. */
type Sheets = { readonly sheet: Page } | { readonly sheets: readonly Page[] };

export default defineCommand({
  summary: "Print a cheat sheet",
  category: "This tool",
  description: "A screen or two on one topic, with examples to copy. Without a topic it lists them.",
  examples: ["svc cheat", "svc cheat features"],
  args: { topic: optionalArg("topic of the sheet") },
  async run(_, { topic }): Promise<Sheets> {
    const sheets = (await readSite()).pages.filter(({ path }) => path.startsWith(FOLDER));
    if (topic === undefined) return { sheets };
    const sheet = sheets.find(({ path }) => path === FOLDER + topic);
    if (sheet) return { sheet };
    const topics = sheets.map(topicOf);
    const close = didYouMean(topic, topics);
    throw new UsageError(`there is no cheat sheet '${topic}'${close && `; ${close}`}`, { hint: `There are: ${topics.join(", ")}.` });
  },
  view: choiceView((shown: Sheets) => ("sheet" in shown ? SHEET : LIST)),
});

const SHEET = textView(
  ({ sheet }: { readonly sheet: Page }, style) => markdownText(style.isTTY ? withFileNames(sheet.markdown) : sheet.markdown, style),
  ({ sheet }) => ({ topic: topicOf(sheet), title: sheet.title, markdown: sheet.markdown }),
  { long: true },
);

const LIST = tableView({
  things: "cheat sheets",
  rows: ({ sheets }: { readonly sheets: readonly Page[] }) => sheets,
  columns: [
    { header: "Topic", cell: topicOf },
    { header: "Summary", cell: ({ summary }) => summary, flexible: true },
  ],
  json: ({ sheets }) => ({ sheets: sheets.map((sheet) => ({ topic: topicOf(sheet), title: sheet.title, summary: sheet.summary })) }),
});

function topicOf({ path }: Page): string {
  return path.slice(FOLDER.length);
}
