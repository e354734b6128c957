import { join } from "node:path";
import { defineCommand } from "../../cli/command.ts";
import { bool, optionalArg, path } from "../../cli/flag.ts";
import { type Page, withFileNames } from "../../docs/page.ts";
import { readSite } from "../../docs/site.ts";
import { didYouMean } from "../../domain/closest.ts";
import { isUnanswered, UsageError } from "../../errors/cli-error.ts";
import { markdownText } from "../../output/markdown.ts";
import { choiceView, tableView, textView } from "../../output/view.ts";

/** What was done: a page is shown, files were written, or a page was opened. */
type Shown =
  | { readonly kind: "page"; readonly page: Page }
  | { readonly kind: "list"; readonly pages: readonly Page[] }
  | { readonly kind: "written"; readonly folder: string; readonly files: number }
  | { readonly kind: "opened"; readonly url: string; readonly opened: boolean };

export default defineCommand({
  summary: "Open the documentation, or print a page of it",
  category: "This tool",
  description:
    "Without a page it opens the documentation in a browser, at the server if one answers, which has it at /docs/; without a terminal, a browser or a server it lists " +
    "the pages. With a page it prints that, and --output-dir writes all pages as files that a browser shows without a server. All of it is in this program, and " +
    "of its version.",
  examples: [
    "svc docs",
    { run: "svc docs streams", does: "Print a guide" },
    { run: "svc docs commands/query", does: "Print what there is on a command" },
    { run: "svc docs --output-dir site", does: "Write the pages" },
  ],
  args: { page: optionalArg("page to print, as the list names it") },
  flags: {
    list: bool("list the pages", { aliases: ["-l"] }),
    outputDir: path("folder to write all pages to", { placeholder: "<folder>" }),
  },
  check({ list, outputDir, page }) {
    if ([list, outputDir !== undefined, page !== undefined].filter(Boolean).length > 1)
      throw new UsageError("a page, --list and --output-dir exclude each other");
  },
  async run({ flags, http, io, machine, settings }, { list, outputDir, page }): Promise<Shown> {
    if (outputDir !== undefined) {
      if ((await machine.exists(outputDir)) && !(await machine.readText(join(outputDir, "llms.txt")))?.startsWith("# svc\n"))
        throw new UsageError(`${outputDir} is there, and holds no documentation of svc`, { hint: "Name a new folder." });
      const { names, text } = await readSite();
      for (const name of names) await machine.writeFile(join(outputDir, name), text(name));
      return { kind: "written", folder: outputDir, files: names.size };
    }
    if (page === undefined && !list && io.stdoutIsTTY && !flags.json) {
      const server = (await settings()).apiServer.value ?? "";
      const answers = await http.ping(server).then(
        () => true,
        (error) => {
          if (isUnanswered(error)) return false;
          throw error;
        },
      );
      const url = `${server}/docs/`;
      if (answers && (await machine.openUrl(url))) return { kind: "opened", url, opened: true };
    }
    const { pages } = await readSite();
    if (page === undefined) return { kind: "list", pages };
    const wanted = page.replace(/\.(md|html)$/, "");
    const found = pages.find(({ path }) => path === wanted) ?? pages.find(({ path }) => path.split("/").at(-1) === wanted);
    if (found) return { kind: "page", page: found };
    const close = didYouMean(
      wanted,
      pages.map(({ path }) => path),
    );
    throw new UsageError(`the documentation has no page '${page}'${close && `; ${close}`}`, { hint: "`svc docs --list` lists them." });
  },
  view: choiceView((shown: Shown) => {
    switch (shown.kind) {
      case "page":
        return PAGE as never;
      case "list":
        return LIST as never;
      default:
        return DONE as never;
    }
  }),
});

const PAGE = textView(
  ({ page }: Extract<Shown, { kind: "page" }>, style) => markdownText(style.isTTY ? withFileNames(page.markdown) : page.markdown, style),
  ({ page }) => page,
  { long: true },
);

const LIST = tableView({
  things: "pages",
  rows: ({ pages }: Extract<Shown, { kind: "list" }>) => pages,
  columns: [
    { header: "Page", cell: ({ path }: Page) => path },
    { header: "Title", cell: ({ title }: Page) => title, flexible: true },
    { header: "Summary", cell: ({ summary }: Page) => summary, flexible: true },
  ],
  json: ({ pages }) => ({ pages: pages.map(({ path, section, summary, title }) => ({ path, section, title, summary })) }),
  long: true,
});

const DONE = textView(
  (shown: Extract<Shown, { kind: "written" | "opened" }>) =>
    shown.kind === "written" ? `Wrote ${shown.files} files to ${shown.folder}; open index.html there.` : `Opened ${shown.url}`,
  ({ kind: _, ...shown }) => shown,
);
