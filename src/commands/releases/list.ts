import { buildInfo } from "../../build-info.ts";
import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import type { ReleaseEntry } from "../../domain/release/manifest.ts";
import { tableView } from "../../output/view.ts";

/** A release in the list. */
interface ListedRelease extends Omit<ReleaseEntry, "manifest" | "published_at"> {
  readonly published_at: string | null;
}

/** The running build as a release, with the facts that are known without a release host. */
async function thisBuild({ releases }: Context): Promise<ListedRelease> {
  const { version, builtAt } = buildInfo;
  const own = (await releases.ownChangelog()).find((entry) => entry.version === version);
  return { version, component: "svc", published_at: builtAt === "unknown" ? null : builtAt, notes: own?.notes ?? "" };
}

/** The first line of the notes that is not empty, as plain text. */
function headline(notes: string): string {
  const plain = Bun.markdown.ansi(notes, { colors: false, hyperlinks: false }).split("\n");
  return plain.map((line) => line.replace(/^\s*[•*-]\s*/, "").trim()).find((line) => line !== "") ?? "";
}

export default defineCommand({
  summary: "List releases with notes",
  description: "Newest first. Without a network, the list that was fetched last is shown, or this build alone; a note on stderr says so.",
  examples: ["svc releases list", "svc releases list --component svc --json"],
  flags: {
    component: text("only releases of this component", { default: "all", placeholder: "<component>" }),
    from: text("release host or folder to ask", { placeholder: "<url|dir>" }),
  },
  async run(context, { component, from }): Promise<readonly ListedRelease[]> {
    const known = await context.releases.feed(from);
    const releases: readonly ListedRelease[] = known
      ? known.releases.map(({ version, component: of, published_at, notes }) => ({ version, component: of, published_at, notes }))
      : [await thisBuild(context)];
    return component === "all" ? releases : releases.filter((release) => release.component === component);
  },
  view: tableView<readonly ListedRelease[], ListedRelease>({
    rows: (releases) => releases,
    columns: [
      { header: "Version", cell: ({ version }) => version },
      { header: "Component", cell: ({ component }) => component },
      { header: "Published", cell: ({ published_at }) => published_at?.slice(0, 10) ?? "" },
      { header: "Notes", flexible: true, cell: ({ notes }) => headline(notes) },
    ],
    things: "releases",
    json: (releases) => ({ releases }),
  }),
});
