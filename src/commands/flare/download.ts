import { join } from "node:path";
import { defineCommand } from "../../cli/command.ts";
import { path, text } from "../../cli/flag.ts";
import { CliError } from "../../errors/cli-error.ts";
import { timeText } from "../../output/time.ts";
import { textView } from "../../output/view.ts";
import { givenOrPicked } from "../pick-flags.ts";

/** The folder that a flare was unpacked into. */
interface FlareFolder {
  readonly id: string;
  readonly path: string;
  readonly files: number;
}

export default defineCommand({
  summary: "Download and extract a flare",
  description: "The archive is unpacked as a whole or not at all; one that names absolute paths, `..` or links is refused.",
  examples: [{ run: "svc flare download", does: "Pick one from a list" }, "svc flare download --id flr_0198c0de --output ./flare"],
  needs: ["session"],
  flags: {
    id: text("id of the flare; left out: pick", { placeholder: "<id>" }),
    output: path("folder to extract into; it must not exist", {
      aliases: ["-o", "--output-dir"],
      defaultText: "the id of the flare",
      placeholder: "<folder>",
    }),
  },
  async run(context, { id, output }): Promise<FlareFolder> {
    const { api, flags, http } = context;
    const support = await api.support();
    const chosen = await givenOrPicked(context, id, {
      question: "Which flare?",
      flag: "--id",
      list: async () =>
        (await support.listFlares({})).flares.map((flare) => ({ id: flare.id, name: `${flare.name} (${timeText(flare.createdAt)})` })),
    });
    const { flare, url } = await support.getFlare({ id: chosen });
    if (!flare) throw new CliError("the server named no flare", { code: "broken_answer" });
    const folder = output ?? join(flags.dir, flare.id);
    const files = await http.downloadSource(url, folder);
    return { id: flare.id, path: folder, files: files.length };
  },
  view: textView((folder: FlareFolder) => folder.path),
});
