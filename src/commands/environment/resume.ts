import type { ResumeEnvironmentResponse } from "../../../gen/svc/v1/environment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { escapeControls } from "../../domain/name.ts";
import { textView } from "../../output/view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { stateJson } from "./state-view.ts";

export default defineCommand({
  summary: "Resume a suspended environment",
  description: "Starts what was live when it was suspended.",
  examples: ["svc environment resume", { run: "svc environment resume --force", does: "Without a question" }],
  needs: ["session"],
  flags: confirmFlags,
  async run(context, { force }) {
    const service = await context.api.environments();
    const { environment } = await service.getEnvironmentConfig({});
    const { id = "", name = "", suspendedAt } = environment ?? {};
    if (suspendedAt) await confirm(context, { force }, `Resume environment '${escapeControls(name)}' (${id})?`);
    return service.resumeEnvironment({ environment: id });
  },
  view: textView(({ changed, environment }: ResumeEnvironmentResponse) => {
    const named = `environment '${escapeControls(environment?.name ?? "")}' (${environment?.id ?? ""})`;
    return changed ? `Resumed ${named}` : `E${named.slice(1)} is active already`;
  }, stateJson),
});
