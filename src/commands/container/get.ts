import type { GetContainerResponse } from "../../../gen/svc/v1/container_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { resourceFields } from "../../output/message-view.ts";
import { checkWhich, whichFlags } from "../container-flags.ts";
import { CONTAINER_FIELDS } from "./container-view.ts";

export default defineCommand({
  summary: "Show a container",
  description:
    "A name means the container that has not ended, else the newest of the name. What it printed is in `svc logs --query operation_id:<id>`.",
  examples: ["svc container get --name cache", "svc container get --id 0198c0de-4f5a-7b3c-8d9e-0f1a2b3c4d5e"],
  needs: ["session"],
  flags: whichFlags,
  check: checkWhich,
  run: async ({ api }, { id, name }) => (await api.containers()).getContainer({ container: id ?? name }),
  view: resourceFields(({ container }: GetContainerResponse) => container, CONTAINER_FIELDS),
});
