import type { ListFlaresResponse } from "../../../gen/svc/v1/support_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";

export default defineCommand({
  summary: "List flares",
  examples: ["svc flare list", "svc flare list --json"],
  needs: ["session"],
  run: async ({ api }) => (await api.support()).listFlares({}),
  view: messageTable<ListFlaresResponse>("flares", { id: "ID", name: "Name", agent: "Agent", createdAt: "Created" }),
});
