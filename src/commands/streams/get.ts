import type { GetStreamResponse } from "../../../gen/svc/v1/stream_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { STREAM_FIELDS } from "./stream-view.ts";

export default defineCommand({
  summary: "Show a stream, partition by partition",
  description: "What it does, how far it has read, and why it does not go on.",
  examples: ["svc streams get on_payment"],
  needs: ["session"],
  args: { name: arg("name of the stream's resolver, or its last part") },
  run: async ({ api }, { name }) => (await api.streams()).getStream({ name }),
  view: resourceFields(({ stream }: GetStreamResponse) => stream, STREAM_FIELDS),
});
