import type { ListSandboxesResponse } from "../../../gen/svc/v1/sandbox_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { SANDBOX_COLUMNS } from "./sandbox-view.ts";

export default defineCommand({
  summary: "List sandboxes",
  description: "Those that were terminated are listed for a week.",
  examples: ["svc sandbox list", "svc sandbox list --json=id,status"],
  needs: ["session"],
  run: async ({ api }) => (await api.sandboxes()).listSandboxes({}),
  view: messageTable<ListSandboxesResponse>("sandboxes", SANDBOX_COLUMNS),
});
