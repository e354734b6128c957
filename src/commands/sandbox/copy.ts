import { defineCommand } from "../../cli/command.ts";
import { arg, text } from "../../cli/flag.ts";
import { parseSize, SIZE_GRAMMAR, sizeText } from "../../domain/size.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import { type Copied, copyFiles } from "../../sandbox-files/copy.ts";
import { type Place, placeOf } from "../../sandbox-files/place.ts";

const MAX_SIZE = "10GB";

export default defineCommand({
  summary: "Copy files into a sandbox or out of it",
  description:
    "One of the two is a path of this machine and the other NAME:/path in a sandbox; - is a tar archive on stdin or stdout. Into a folder that is there files and " +
    "folders come under their names, else they get the name of the path. Links go into a sandbox as links and do not come out of it; a folder of this machine " +
    "that is there is never mixed with what comes. The image needs tar.",
  examples: [
    "svc sandbox copy rows.csv try:/tmp/",
    { run: "svc sandbox copy try:/tmp/out ./out", does: "A folder, out of the sandbox" },
    { run: "svc sandbox copy try:/tmp - | tar -tf -", does: "As an archive on stdout" },
  ],
  needs: ["session"],
  args: { from: arg("what is copied: a path, NAME:/path, or -"), to: arg("where to: a path, NAME:/path, or -") },
  flags: { maxSize: text(`most that is taken of a sandbox, ${SIZE_GRAMMAR}`, { default: MAX_SIZE, placeholder: "<size>" }) },
  check({ from, maxSize, to }, { flags }) {
    const places = [placeOf(from), placeOf(to)];
    if (places.filter(({ is }) => is === "sandbox").length !== 1)
      throw new UsageError("one of the two places is in a sandbox, and the other on this machine", {
        hint: "For example svc sandbox copy rows.csv try:/tmp/rows.csv",
      });
    if (parseSize(maxSize) === undefined) throw new UsageError(`--max-size takes ${SIZE_GRAMMAR}`);
    if (flags.json && places[1]?.is === "stream") throw new UsageError("--json is not for an archive on stdout");
  },
  run: async (context, { from, maxSize, to }) => ({
    ...(await copyFiles(context, placeOf(from), placeOf(to), parseSize(maxSize) ?? 0)),
    to: placeOf(to),
  }),
  view: textView(
    ({ bytes, files, to }: Copied & { readonly to: Place }) =>
      to.is === "stream" ? "" : `Copied ${files === 0 ? "" : `${files} ${files === 1 ? "file" : "files"}, `}${sizeText(bytes)}`,
    ({ bytes, files, leftOut }) => ({ files, bytes, left_out: leftOut }),
  ),
});
