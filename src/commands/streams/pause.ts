import type { PauseStreamResponse } from "../../../gen/svc/v1/stream_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { STREAM_FIELDS } from "./stream-view.ts";

export default defineCommand({
  summary: "Have a stream read no more",
  description: "It stays paused over restarts and new deployments, until `svc streams resume`. What it is about to store is stored.",
  examples: ["svc streams pause on_payment"],
  needs: ["session"],
  args: { name: arg("name of the stream's resolver, or its last part") },
  run: async ({ api }, { name }) => (await api.streams()).pauseStream({ name }),
  view: resourceFields(({ stream }: PauseStreamResponse) => stream, STREAM_FIELDS),
});
