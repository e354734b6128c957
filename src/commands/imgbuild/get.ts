import type { GetImageBuildResponse } from "../../../gen/svc/v1/image_build_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { visibleLines } from "../../domain/visible.ts";
import { resourceFields } from "../../output/message-view.ts";
import { BUILD_FIELDS } from "./imgbuild-view.ts";

export default defineCommand({
  summary: "Show an image build",
  description: "How it stands, and the end of its log.",
  examples: ["svc imgbuild get venv-0198c0de4f5a7b3c8d9e0f1a2b3c4d5e"],
  needs: ["session"],
  args: { name: arg("name of the build") },
  run: async ({ api }, { name }) => (await api.imageBuilds()).getImageBuild({ name }),
  view: resourceFields(({ build }: GetImageBuildResponse) => build, BUILD_FIELDS, {
    text: ({ log }) => (log.length === 0 ? "" : `\n${log.map(visibleLines).join("\n")}`),
    json: ({ log }) => ({ log }),
  }),
});
