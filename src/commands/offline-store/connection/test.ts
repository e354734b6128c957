import type { TestOfflineConnectionResponse } from "../../../../gen/svc/v1/offline_store_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { UsageError } from "../../../errors/cli-error.ts";
import { messageTable } from "../../../output/message-view.ts";
import { CHECK_FIELDS, checksExitCode } from "../../checks-view.ts";
import { optionalDocumentFlags } from "../../document-flags.ts";
import { readResource } from "../../settings-flags.ts";
import { CONNECTION_KINDS, connectionArgs } from "./connection-kinds-flags.ts";

export default defineCommand({
  summary: "Test connectivity",
  description:
    "The server runs `select 1` in Snowflake and BigQuery; of Iceberg it lists the catalog and puts, gets and deletes one object in the warehouse. With --file " +
    "nothing is kept. A failed test ends with exit code 1.",
  examples: ["svc offline-store connection test osc_0198c0de", "svc offline-store connection test --file warehouse.yaml"],
  needs: ["session"],
  args: connectionArgs,
  flags: optionalDocumentFlags("connection to test before it is created"),
  check({ file, id }) {
    if (file !== undefined && id !== undefined) throw new UsageError("an id and --file exclude each other");
  },
  async run(context, { file, id = "" }) {
    if (file === undefined) return (await context.api.offlineStores()).testOfflineConnection({ target: { case: "id", value: id } });
    const { kind: type, name, settings } = await readResource(context, file, CONNECTION_KINDS);
    const api = await context.api.offlineStores();
    return api.testOfflineConnection({ target: { case: "connection", value: { name, settings, type } } });
  },
  exitCode: ({ checks }) => checksExitCode(checks),
  view: messageTable<TestOfflineConnectionResponse>("checks", CHECK_FIELDS),
});
