import type { GetTaskProfileResponse } from "../../../gen/svc/v1/task_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg, path } from "../../cli/flag.ts";
import { PROFILE_FORMATS, profileFormat } from "../../deploy/flame-graph.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { messageTable } from "../../output/message-view.ts";
import { pickedTask } from "./task-flags.ts";

export default defineCommand({
  summary: "Show what a task spent its time on",
  description:
    "For a task that was begun with `svc task run --enable-profiling` and has ended: what its main thread was doing when it was looked at, many times a second.",
  examples: [
    "svc task profile st-0198c0de4f5a7b3c8d9e0f1a2b3c4d5e",
    { run: "svc task profile st-0198c0de4f5a7b3c8d9e0f1a2b3c4d5e --out task.svg", does: "A flame graph" },
  ],
  needs: ["session"],
  args: { id: optionalArg("id of the task; left out: pick one on a terminal") },
  flags: { out: path("file for a flame graph: .svg, .json (speedscope) or .txt (collapsed stacks)", { placeholder: "<file>" }) },
  check({ out }) {
    if (out !== undefined && profileFormat(out) === undefined)
      throw new UsageError(`--out takes a file that ends in ${Object.keys(PROFILE_FORMATS).join(", ")}`, {
        hint: "For example: --out task.svg",
      });
  },
  async run(context, { id: given, out }): Promise<GetTaskProfileResponse> {
    const id = await pickedTask(context, given);
    const profile = await (await context.api.tasks()).getTaskProfile({ id });
    const format = out === undefined ? undefined : profileFormat(out);
    if (out !== undefined && format) {
      const stacks = profile.stacks.map(({ frames, samples }) => ({ frames, samples: Number(samples) }));
      await context.machine.writeFile(out, format(id, stacks, profile.intervalMs));
      context.progress.note(`Wrote ${out}`);
    }
    return profile;
  },
  view: messageTable<GetTaskProfileResponse>("stacks", {
    samples: { header: "Samples", align: "right" },
    frames: { header: "In", flexible: true, cell: ({ frames }) => frames.at(-1) ?? "" },
  }),
});
