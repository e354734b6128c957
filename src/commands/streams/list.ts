import type { ListStreamsResponse } from "../../../gen/svc/v1/stream_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { STREAM_COLUMNS } from "./stream-view.ts";

export default defineCommand({
  summary: "List the environment's streams",
  description: "Lag is the number of messages that are kept and not read yet. Those that no live deployment has any more are inactive.",
  examples: ["svc streams list", { run: "svc streams list --json", does: "With each partition" }],
  needs: ["session"],
  run: async ({ api }) => (await api.streams()).listStreams({}),
  view: messageTable<ListStreamsResponse>("streams", STREAM_COLUMNS),
});
