import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { linksOf } from "../../dataset-files/download.ts";
import { timestampToMs } from "../../domain/proto-time.ts";
import { textView } from "../../output/view.ts";

/** A file with its address. */
interface ListedLink {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly url: string;
  readonly expires_at: string | null;
}

/** One link as it comes, or all of them. */
type Links = ListedLink | { readonly links: readonly ListedLink[] };

export default defineCommand({
  summary: "Stream signed download URLs as they are produced",
  description:
    "One URL a line, as soon as its file is there: of a revision that is being written, until that is complete. A URL needs no token and can be used for 15 " +
    "minutes, by whoever has it. With --json all come as one document at the end.",
  examples: [
    "svc dataset stream-links rev_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c",
    { run: "svc dataset stream-links rev_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c | xargs -n 1 curl -sOJ", does: "Hand them to another program" },
  ],
  needs: ["session"],
  args: { revision: arg("id of the revision") },
  run(context, { revision }): AsyncIterable<Links> | Promise<Links> {
    const links = listed(context, revision);
    return context.flags.json ? Array.fromAsync(links).then((all) => ({ links: all })) : links;
  },
  view: textView((link: Links) => ("url" in link ? link.url : link.links.map(({ url }) => url).join("\n"))),
});

async function* listed({ api, http, signal }: Context, revisionId: string): AsyncIterable<ListedLink> {
  const service = await api.datasets();
  for await (const { file, url, expiresAt } of linksOf(service.streamDatasetLinks({ revisionId }, { signal }))) {
    const { name = "", bytes = 0n, sha256 = "" } = file ?? {};
    const expires = expiresAt ? new Date(timestampToMs(expiresAt)).toISOString() : null;
    yield { name, bytes: Number(bytes), sha256, url: await http.addressOf(url), expires_at: expires };
  }
}
