import type { GetVolumeResponse } from "../../../gen/svc/v1/volume_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { resourceFields } from "../../output/message-view.ts";
import { VOLUME_FIELDS } from "./volume-view.ts";

export default defineCommand({
  summary: "Show a volume",
  description: "Its size is measured now.",
  examples: ["svc volume get --name data"],
  needs: ["session"],
  flags: { name: text("name or id", { required: true, placeholder: "<name>" }) },
  run: async ({ api }, { name }) => (await api.volumes()).getVolume({ name }),
  view: resourceFields(({ volume }: GetVolumeResponse) => volume, VOLUME_FIELDS),
});
