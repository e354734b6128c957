import { useSignal } from "@preact/signals";
import type { JobJson } from "../../../../gen/svc/v1/job_pb.ts";
import { JOB_PRIORITY } from "../../../domain/job-priority.ts";
import { call } from "../../api/call.ts";
import { Action } from "../../app/action.tsx";
import { environmentScope } from "../../app/who.ts";
import { enumWord } from "./run-state.ts";

/** The button that puts a job that waits before or behind others. */
export function JobPriority({ job, onDone }: { readonly job: JobJson; readonly onDone: () => void }) {
  const { id = "", number = "", priority = 0 } = job;
  const wanted = useSignal(String(priority));
  if (!["scheduled", "not ready"].includes(enumWord(job.state, "JOB_STATE_"))) return null;
  const set = async () => {
    await call("JobService/SetJobPriority", { id, priority: Number(wanted.value) }, environmentScope.value);
    return `Job ${number} has the priority ${wanted.value}.`;
  };
  return (
    <Action
      verb="Set priority"
      question={`Set the priority of job ${number}?`}
      permission="infra.write"
      words={["jobs", "set-priority", number, wanted.value]}
      act={set}
      onDone={onDone}
    >
      <p>Jobs with a higher one are run first, whatever environment they are of. What already runs goes on.</p>
      <label class="field">
        <span>
          Priority, {JOB_PRIORITY.least} to {JOB_PRIORITY.most}
        </span>
        <input
          type="number"
          required
          step={1}
          min={JOB_PRIORITY.least}
          max={JOB_PRIORITY.most}
          value={wanted}
          onInput={({ currentTarget }) => (wanted.value = currentTarget.value)}
        />
      </label>
    </Action>
  );
}
