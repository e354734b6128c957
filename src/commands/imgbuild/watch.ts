import { type ImageBuild, ImageBuildPhase } from "../../../gen/svc/v1/image_build_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, int } from "../../cli/flag.ts";
import type { Context } from "../../context/context.ts";
import { escapeControls } from "../../domain/name.ts";
import { CliError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import { phaseText } from "./imgbuild-view.ts";

const DEFAULT_SECONDS = 5;

export default defineCommand({
  summary: "Poll an image build until Succeeded, Failed or Error",
  description: "Prints a line for each change of its phase, and the images that it made at the end. Exits with 1 when it failed.",
  examples: [
    "svc imgbuild watch venv-0198c0de4f5a7b3c8d9e0f1a2b3c4d5e",
    { run: "svc imgbuild watch venv-0198c0de4f5a7b3c8d9e0f1a2b3c4d5e --interval 1 --json", does: "One JSON object a change" },
  ],
  needs: ["session"],
  args: { name: arg("name of the build") },
  flags: {
    interval: int("seconds between two looks", { aliases: ["-i"], default: DEFAULT_SECONDS, min: 1, max: 3600 }),
  },
  run: (context, { interval, name }) => changesOf(context, name, interval * 1000),
  view: textView(lineOf, async (build) => (await import("../../contract/message-json.ts")).messageJson(build)),
});

/** The build at each change of its phase, up to its end. */
async function* changesOf({ api, clock, signal }: Context, name: string, intervalMs: number): AsyncGenerator<ImageBuild> {
  const service = await api.imageBuilds();
  for (let last: ImageBuildPhase | undefined; ; ) {
    const { build } = await service.getImageBuild({ name });
    if (!build) return;
    if (build.phase !== last) yield build;
    last = build.phase;
    if (build.phase === ImageBuildPhase.FAILED || build.phase === ImageBuildPhase.ERROR)
      throw new CliError(`build ${name} ended as ${phaseText(build).toLowerCase()}`, {
        code: "build_failed",
        hint: `\`svc imgbuild get ${name}\` shows its log.`,
      });
    if (build.phase !== ImageBuildPhase.PENDING && build.phase !== ImageBuildPhase.RUNNING) return;
    await clock.sleep(intervalMs, signal);
  }
}

function lineOf(build: ImageBuild): string {
  const { error, imageDestinations, name } = build;
  const line = `${name}: ${phaseText(build)}${error === "" ? "" : `: ${error.split("\n", 1)[0]}`}`;
  return [line, ...imageDestinations.map((image) => `  ${image}`)].map(escapeControls).join("\n");
}
