import type { CreateOfflineConnectionResponse } from "../../../../gen/svc/v1/offline_store_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { resourceFields } from "../../../output/message-view.ts";
import { optionalDocumentFlags } from "../../document-flags.ts";
import { askResource, readResource } from "../../settings-flags.ts";
import { CONNECTION_KINDS } from "./connection-kinds-flags.ts";

export default defineCommand({
  summary: "Create a connection",
  description:
    "snowflake has the settings account, user, database and one of private_key, token and password; bigquery has service_account and dataset; iceberg, with Glue " +
    "and S3, has warehouse, region, access_key_id and secret_access_key. On a terminal, without --file, they are asked for, secrets without echo. The connection " +
    "is not active.",
  examples: [
    "svc offline-store connection create",
    { run: "svc offline-store connection create --file warehouse.yaml", does: "name, type and settings" },
  ],
  needs: ["session"],
  flags: optionalDocumentFlags("connection with name, type and settings"),
  async run(context, { file }) {
    const given = file === undefined ? await askResource(context, CONNECTION_KINDS) : await readResource(context, file, CONNECTION_KINDS);
    const { kind: type, name, settings } = given;
    return (await context.api.offlineStores()).createOfflineConnection({ connection: { name, settings, type } });
  },
  view: resourceFields(({ connection }: CreateOfflineConnectionResponse) => connection, { id: "ID", name: "Name" }),
});
