import type { DeleteOfflineConnectionResponse } from "../../../../gen/svc/v1/offline_store_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { arg } from "../../../cli/flag.ts";
import { escapeControls } from "../../../domain/name.ts";
import { confirm, confirmFlags } from "../../confirm-flags.ts";
import { connectionLine } from "./connection-view.ts";

export default defineCommand({
  summary: "Delete a connection",
  description: "Its sealed secrets go with it; what is in the store stays. A connection that is active somewhere is not deleted.",
  examples: ["svc offline-store connection delete osc_0198c0de --yes"],
  needs: ["session"],
  args: { id: arg("id or name of the connection (osc_...)") },
  flags: confirmFlags,
  async run(context, { force, id }) {
    await confirm(context, { force }, `Delete the connection ${escapeControls(id)} with its secrets? What is in the store stays.`);
    return (await context.api.offlineStores()).deleteOfflineConnection({ id });
  },
  view: connectionLine(
    (name) => `Deleted the connection ${name}.`,
    ({ connection }: DeleteOfflineConnectionResponse) => connection,
  ),
});
