import { defineCommand } from "../cli/command.ts";
import { bool, optionalArg } from "../cli/flag.ts";
import { browserFilesDir } from "../config/home.ts";
import { inEnvironment } from "../domain/addresses.ts";
import { UsageError } from "../errors/cli-error.ts";
import { textView } from "../output/view.ts";

/** The page, and whether a browser opened it. The address logs a browser in, once. */
interface Page {
  readonly url: string;
  readonly page: string;
  readonly opened: boolean;
}

export default defineCommand({
  summary: "Open the dashboard",
  category: "Server and account",
  description:
    "Opens the page of the active environment, or the one you name by its path or address, and logs the browser in: with your permissions, for twelve hours after its " +
    "last use and thirty days at most. The address works once, for two minutes. Without a terminal or a browser it is printed: give it to nobody. " +
    "`svc logout --list` shows the browsers that are logged in, `svc logout --sessions` ends them.",
  examples: [
    "svc dashboard",
    { run: "svc dashboard --read-only", does: "A browser that can change nothing" },
    { run: "svc dashboard --no-browser", does: "Print the address" },
  ],
  needs: ["session"],
  args: { page: optionalArg("path or address of a page, such as one that svc printed") },
  flags: {
    noBrowser: bool("print the URL instead of opening it", { aliases: ["-n", "--print", "--url-only"] }),
    readOnly: bool("let the browser read and nothing else"),
  },
  async run({ api, flags, io, machine, surroundings }, { noBrowser, page, readOnly }): Promise<Page> {
    const auth = await api.auth();
    const me = await auth.whoAmI({});
    const address = URL.parse(page ?? "/", me.dashboardUrl);
    if (address?.origin !== new URL(me.dashboardUrl).origin)
      throw new UsageError(`'${page}' is no page of ${me.dashboardUrl}`, {
        hint: "Give a path that begins with a slash, or the page's address.",
      });
    const path = inEnvironment(address.pathname + address.search + address.hash, me.environmentId);
    const { url } = await auth.createEntry({ path, readOnly });
    const tried = !noBrowser && !flags.json && io.stdoutIsTTY;
    const opened = tried && (await machine.openUrl(url, { privately: browserFilesDir(surroundings) }));
    return { url, page: new URL(path, address).href, opened };
  },
  view: textView(
    ({ url, page, opened }: Page) => (opened ? `Opened ${page}\nIf no browser shows it: \`svc dashboard --no-browser\`.` : url),
    ({ url, opened }) => ({ url, opened }),
  ),
});
