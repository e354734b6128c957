import { defineCommand } from "../cli/command.ts";
import { bool } from "../cli/flag.ts";
import { textView } from "../output/view.ts";

/** The page, and whether a browser took it. */
interface Page {
  readonly url: string;
  readonly opened: boolean;
}

export default defineCommand({
  summary: "Open the dashboard",
  description: "Opens the page of the active environment. Without a terminal or a browser its address is printed.",
  examples: ["svc dashboard", "svc dashboard --no-browser"],
  needs: ["session"],
  flags: {
    noBrowser: bool("print the URL instead of opening it", { aliases: ["-n", "--print", "--url-only"] }),
  },
  async run({ api, flags, io, machine }, { noBrowser }): Promise<Page> {
    const me = await (await api.auth()).whoAmI({});
    const url = `${me.dashboardUrl.replace(/\/+$/, "")}/environments/${me.environmentId}`;
    const opened = !noBrowser && !flags.json && io.stdoutIsTTY && (await machine.openUrl(url));
    return { url, opened };
  },
  view: textView(({ url, opened }: Page) => (opened ? `Opened ${url}` : url)),
});
