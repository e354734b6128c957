import type { ListVolumesResponse } from "../../../gen/svc/v1/volume_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";

export default defineCommand({
  summary: "List volumes",
  examples: ["svc volume list", "svc volume list --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.volumes()).listVolumes({}),
  view: messageTable<ListVolumesResponse>("volumes", { name: "Name" }),
});
