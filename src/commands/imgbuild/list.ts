import type { ListImageBuildsResponse } from "../../../gen/svc/v1/image_build_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { choice, int } from "../../cli/flag.ts";
import { DEFAULT_PAGE, MAX_OFFSET, MAX_PAGE } from "../../domain/pages.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { messageTable } from "../../output/message-view.ts";
import { BUILD_COLUMNS, PHASES } from "./imgbuild-view.ts";

export default defineCommand({
  summary: "List image builds",
  description:
    "Newest first: the virtual environments of deployments, with one build for their own requirements and one for each venv. One is skipped when another deployment has made the same before, and omitted without requirements.",
  examples: ["svc imgbuild list", { run: "svc imgbuild list --phase failed --limit 5 --json", does: "The last ones that failed" }],
  needs: ["session"],
  flags: {
    phase: choice("only those in this phase", Object.keys(PHASES) as (keyof typeof PHASES)[]),
    limit: int(`rows at most, 1 to ${MAX_PAGE}`, { default: DEFAULT_PAGE, aliases: ["-L"] }),
    offset: int(`rows to skip before the first one, at most ${MAX_OFFSET}`, { default: 0 }),
  },
  check({ limit, offset }) {
    if (limit < 1 || limit > MAX_PAGE) throw new UsageError(`--limit takes 1 to ${MAX_PAGE}`);
    if (offset < 0 || offset > MAX_OFFSET) throw new UsageError(`--offset takes 0 to ${MAX_OFFSET}`);
  },
  async run({ api, flags, progress }, { limit, offset, phase }) {
    const answer = await (await api.imageBuilds()).listImageBuilds({ phases: phase ? [PHASES[phase]] : [], limit, offset });
    if (answer.more && !flags.json) progress.note(`More: --offset ${offset + limit}`);
    return answer;
  },
  view: messageTable<ListImageBuildsResponse>("builds", BUILD_COLUMNS),
});
