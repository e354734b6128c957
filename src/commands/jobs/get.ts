import type { GetJobResponse } from "../../../gen/svc/v1/job_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { givenOrPicked } from "../pick-flags.ts";
import { checkJobId } from "./job-flags.ts";
import { JOB_FIELDS } from "./job-view.ts";

export default defineCommand({
  summary: "Show one job",
  description: "With its attempts, its limits, and what it waits for. What the job was given is never shown.",
  examples: ["svc jobs get 12", { run: "svc jobs get job_0198c0de --json", does: "By the id that the server's log names" }],
  needs: ["session"],
  args: { id: optionalArg("number of the job, or its id; left out: pick one on a terminal") },
  check: ({ id }) => checkJobId(id),
  async run(context, { id: given }) {
    const jobs = await context.api.jobs();
    const id = await givenOrPicked(context, given, {
      question: "Which job?",
      flag: "<id>",
      list: async () =>
        (await jobs.listJobs({})).jobs.map(({ number, kind, subject }) => ({ id: `${number}`, name: `${kind} ${subject}`.trim() })),
    });
    return jobs.getJob({ id });
  },
  view: resourceFields(({ job }: GetJobResponse) => job, JOB_FIELDS),
});
