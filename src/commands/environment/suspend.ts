import type { SuspendEnvironmentResponse } from "../../../gen/svc/v1/environment_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { escapeControls } from "../../domain/name.ts";
import { textView } from "../../output/view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { stateJson } from "./state-view.ts";

export default defineCommand({
  summary: "Suspend an environment: everything in it stops",
  description:
    "Workers, schedules and builds stop, and queries are refused (UNAVAILABLE, 503) until `svc environment resume`. What is stored stays.",
  examples: ["svc environment suspend", { run: "svc environment suspend --force", does: "Without a question" }],
  needs: ["session"],
  flags: confirmFlags,
  async run(context, { force }) {
    const service = await context.api.environments();
    const { environment } = await service.getEnvironmentConfig({});
    const { id = "", name = "", suspendedAt } = environment ?? {};
    if (!suspendedAt) {
      context.progress.warn(
        `all queries of environment '${escapeControls(name)}' are refused from now on, and nothing runs there until it is resumed`,
      );
      await confirm(context, { force }, `Suspend environment '${escapeControls(name)}' (${id})?`);
    }
    return service.suspendEnvironment({ environment: id });
  },
  view: textView(({ changed, environment }: SuspendEnvironmentResponse) => {
    const named = `environment '${escapeControls(environment?.name ?? "")}' (${environment?.id ?? ""})`;
    return changed ? `Suspended ${named}` : `E${named.slice(1)} is suspended already`;
  }, stateJson),
});
