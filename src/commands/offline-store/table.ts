import type { ListOfflineTablesResponse } from "../../../gen/svc/v1/feature_data_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { arg, bool } from "../../cli/flag.ts";
import { textView } from "../../output/view.ts";

export default defineCommand({
  summary: "Print the active offline table name of a feature",
  description: "A feature gets a new internal version, and with it a table of its own, when its type changes.",
  examples: ["svc offline-store table user.score", "svc offline-store table user.score --include-historical"],
  needs: ["session"],
  args: { fqn: arg("fully qualified name of the feature", { names: "feature" }) },
  flags: { includeHistorical: bool("also one table per earlier internal version") },
  run: async ({ api }, { fqn, includeHistorical }) => (await api.featureData()).listOfflineTables({ fqn, includeHistorical }),
  view: textView(
    ({ tables }: ListOfflineTablesResponse) => tables.join("\n"),
    ({ tables }) => ({ tables }),
  ),
});
