import type { CreateFlareResponse } from "../../../gen/svc/v1/support_pb.ts";
import { buildInfo } from "../../build-info.ts";
import { defineCommand } from "../../cli/command.ts";
import { uploadBundle } from "../../deploy/upload-bundle.ts";
import { escapeControls } from "../../domain/name.ts";
import { platformName } from "../../domain/release/target.ts";
import { sizeText } from "../../domain/size.ts";
import { resourceFields } from "../../output/message-view.ts";
import { secretsLeftOut } from "../../project/secrets.ts";

export default defineCommand({
  summary: "Send the project's files to those who run the server",
  category: "Server and account",
  description:
    "The files that `svc files` lists are kept on the server, where `svc flare download` gets them: what cannot be deployed can be shown that way. Files that " +
    "look like secrets are left out. Nothing is sent anywhere but to the server; the newest 50 flares of an environment are kept.",
  examples: ["svc flare", { run: "svc flare --dir ../shop", does: "Send another folder's project" }],
  needs: ["session", "project"],
  async run(context): Promise<CreateFlareResponse> {
    const { api, progress, surroundings } = context;
    const project = await context.project();
    const environment = context.flags.environment ?? (await context.settings()).environment.value;
    const { files, secrets } = await project.list(environment);
    if (secrets.length > 0) progress.warn(secretsLeftOut(secrets.map(escapeControls)));
    progress.note(`Sending ${files.length} files, ${sizeText(files.reduce((sum, { size }) => sum + size, 0))}.`);
    const target = buildInfo.target || platformName(surroundings.platform, surroundings.arch);
    return progress.step("Sending the files", async (say) => {
      const uploadId = await uploadBundle(context, await project.bundle(environment), say);
      return (await api.support()).createFlare({ uploadId, name: project.name, agent: `svc ${buildInfo.version} (${target})` });
    });
  },
  view: resourceFields(({ flare }: CreateFlareResponse) => flare, { id: "ID", name: "Name" }),
});
