import type { CreateCloudAccountResponse } from "../../../gen/svc/v1/cloud_account_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { CLOUD_ACCOUNT_KINDS } from "../../domain/cloud-account.ts";
import { resourceFields } from "../../output/message-view.ts";
import { optionalDocumentFlags } from "../document-flags.ts";
import { askResource, readResource } from "../settings-flags.ts";

const KINDS = { key: "kind", noun: "cloud account", table: CLOUD_ACCOUNT_KINDS } as const;

export default defineCommand({
  summary: "Create cloud credentials",
  description:
    "aws has the settings region, access_key_id and secret_access_key, gcp has service_account, the key as JSON; both may have endpoint. On a terminal, without " +
    "--file, they are asked for, secrets without echo. The server seals secrets and shows them never again.",
  examples: ["svc cloud-account create", { run: "svc cloud-account create --file aws.yaml", does: "name, kind and settings" }],
  needs: ["session"],
  flags: optionalDocumentFlags("account with name, kind and settings"),
  async run(context, { file }) {
    const { kind, name, settings } = file === undefined ? await askResource(context, KINDS) : await readResource(context, file, KINDS);
    return (await context.api.cloudAccounts()).createCloudAccount({ kind, name, settings });
  },
  view: resourceFields(({ account }: CreateCloudAccountResponse) => account, { id: "ID", name: "Name" }),
});
