import type { ResumeStreamResponse } from "../../../gen/svc/v1/stream_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { STREAM_FIELDS } from "./stream-view.ts";

export default defineCommand({
  summary: "Have a stream go on where it was",
  description: "One that was paused, or that was stopped because its messages failed. A new deployment starts a stopped one by itself.",
  examples: ["svc streams resume on_payment"],
  needs: ["session"],
  args: { name: arg("name of the stream's resolver, or its last part") },
  run: async ({ api }, { name }) => (await api.streams()).resumeStream({ name }),
  view: resourceFields(({ stream }: ResumeStreamResponse) => stream, STREAM_FIELDS),
});
