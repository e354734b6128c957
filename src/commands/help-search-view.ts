import type { HelpHit } from "../cli/help-search.ts";
import { textView } from "../output/view.ts";
import { textWidth, wrap } from "../output/wrap.ts";

/** What was found in help: what to call for it, and below, indented, what it is. */
export const helpHitsView = textView(
  ({ hits }: { readonly hits: readonly HelpHit[] }, style) =>
    hits
      .map(({ run, summary, detail }) => {
        const lines = [summary, ...(detail === "" ? [] : [detail])].flatMap((text) => wrap(text, textWidth(style) - 4));
        return [style.bold(run), ...lines.map((line) => `    ${line}`)].join("\n");
      })
      .join("\n"),
  ({ hits }) => ({ hits }),
  { long: true },
);
