import type { DeactivateOfflineConnectionResponse } from "../../../../gen/svc/v1/offline_store_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { escapeControls } from "../../../domain/name.ts";
import { connectionLine } from "./connection-view.ts";

export default defineCommand({
  summary: "Remove the active binding",
  description: "No data is deleted; activating the connection again undoes it.",
  examples: ["svc offline-store connection deactivate"],
  needs: ["session"],
  run: async ({ api }) => (await api.offlineStores()).deactivateOfflineConnection({}),
  view: connectionLine(
    (name, { environment }: DeactivateOfflineConnectionResponse) =>
      `Deactivated the connection ${name} in environment ${escapeControls(environment)}.`,
    ({ connection }) => connection,
  ),
});
