import type { GetResolverRunResponse } from "../../../../gen/svc/v1/resolver_run_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { optionalArg } from "../../../cli/flag.ts";
import { resourceFields } from "../../../output/message-view.ts";
import { givenOrPicked } from "../../pick-flags.ts";
import { RUN_FIELDS, stateText } from "./run-view.ts";

export default defineCommand({
  summary: "Show one run",
  description: "How far it has got, how many rows failed, and the first error.",
  examples: [
    "svc scheduled-resolver runs get job_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c",
    { run: "svc scheduled-resolver runs get job_01920f4e8c7d7b1e9a3c5d7e9f1b3a5c --json", does: "With exact times" },
  ],
  needs: ["session"],
  args: { id: optionalArg("id of the run; left out: pick one on a terminal") },
  async run(context, { id: given }) {
    const runs = await context.api.resolverRuns();
    const id = await givenOrPicked(context, given, {
      question: "Which run?",
      flag: "<id>",
      list: async () => (await runs.listResolverRuns({})).runs.map((run) => ({ id: run.id, name: `${run.resolver} ${stateText(run)}` })),
    });
    return runs.getResolverRun({ id });
  },
  view: resourceFields(({ run }: GetResolverRunResponse) => run, RUN_FIELDS),
});
