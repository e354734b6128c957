import type { MigrateMetricsResponse } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { textView } from "../../../output/view.ts";
import { confirm, confirmFlags } from "../../confirm-flags.ts";

export default defineCommand({
  summary: "Upgrade the metrics database schema to the server's version",
  description:
    "The server upgrades the schema itself when it opens the database after an update; this does it now, and tells what was done.",
  examples: ["svc infra migrate metrics --yes"],
  needs: ["session"],
  flags: confirmFlags,
  async run(context, { force }) {
    await confirm(context, { force }, "Upgrade the schema of the metrics database?");
    return (await context.api.infra()).migrateMetrics({});
  },
  view: textView(
    ({ fromVersion, toVersion }: MigrateMetricsResponse) =>
      fromVersion < toVersion
        ? `Migration applied.\nThe metrics database has schema ${toVersion}; before it had ${fromVersion}.`
        : `Nothing to migrate: the metrics database has schema ${toVersion}, the newest.`,
    ({ fromVersion, toVersion }) => ({ from_version: fromVersion, to_version: toVersion, applied: fromVersion < toVersion }),
  ),
});
