import type { ActivateOfflineConnectionResponse } from "../../../../gen/svc/v1/offline_store_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { arg } from "../../../cli/flag.ts";
import { escapeControls } from "../../../domain/name.ts";
import { connectionLine } from "./connection-view.ts";

export default defineCommand({
  summary: "Bind as the active connection of the environment",
  description:
    "History and datasets are kept there from then on. It is refused, and nothing is changed, when the server has no driver for the type.",
  examples: ["svc offline-store connection activate osc_0198c0de"],
  needs: ["session"],
  args: { id: arg("id or name of the connection (osc_...)") },
  run: async ({ api }, { id }) => (await api.offlineStores()).activateOfflineConnection({ id }),
  view: connectionLine(
    (name, { environment }: ActivateOfflineConnectionResponse) =>
      `Activated the connection ${name} in environment ${escapeControls(environment)}.`,
    ({ connection }) => connection,
  ),
});
