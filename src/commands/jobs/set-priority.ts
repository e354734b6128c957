import type { SetJobPriorityResponse } from "../../../gen/svc/v1/job_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { JOB_PRIORITY } from "../../domain/job-priority.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { checkJobId } from "./job-flags.ts";
import { JOB_FIELDS } from "./job-view.ts";

export default defineCommand({
  summary: "Run a job that waits before or behind others",
  description:
    "Jobs with a higher priority are run first, among those of a kind and a resource group, whatever environment they are of; they begin with 0. What already " +
    "runs goes on. An offline query is several jobs, each with a priority of its own.",
  examples: [
    { run: "svc jobs set-priority 12 10", does: "Before those that waited longer" },
    { run: "svc jobs set-priority job_0198c0de -5", does: "Behind all others" },
  ],
  needs: ["session"],
  args: {
    id: arg("number of the job, or its id"),
    priority: arg(`a whole number from ${JOB_PRIORITY.least} to ${JOB_PRIORITY.most}`),
  },
  check({ id, priority }) {
    checkJobId(id);
    const { least, most } = JOB_PRIORITY;
    if (!/^-?\d{1,3}$/.test(priority) || Number(priority) < least || Number(priority) > most)
      throw new UsageError(`'${priority}' is no priority: it is a whole number from ${least} to ${most}`);
  },
  async run({ api }, { id, priority }) {
    return (await api.jobs()).setJobPriority({ id, priority: Number(priority) });
  },
  view: resourceFields(({ job }: SetJobPriorityResponse) => job, JOB_FIELDS),
});
