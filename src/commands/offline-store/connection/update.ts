import type { UpdateOfflineConnectionResponse } from "../../../../gen/svc/v1/offline_store_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { arg } from "../../../cli/flag.ts";
import { documentFlags } from "../../document-flags.ts";
import { readResource } from "../../settings-flags.ts";
import { CONNECTION_KINDS } from "./connection-kinds-flags.ts";
import { connectionLine } from "./connection-view.ts";

export default defineCommand({
  summary: "Change the fields present in the file",
  description: "What the file leaves out stays, secrets too. A setting that is null is taken away.",
  examples: ["svc offline-store connection update osc_0198c0de --file change.yaml"],
  needs: ["session"],
  args: { id: arg("id or name of the connection (osc_...)") },
  flags: documentFlags("name or settings that change"),
  async run(context, { file, id }) {
    const { kind: type, name, removedSettings, settings } = await readResource(context, file, CONNECTION_KINDS);
    return (await context.api.offlineStores()).updateOfflineConnection({ id, change: { name, removedSettings, settings, type } });
  },
  view: connectionLine(
    (name) => `Updated the connection ${name}.`,
    ({ connection }: UpdateOfflineConnectionResponse) => connection,
  ),
});
