import type { DeleteCloudAccountResponse } from "../../../gen/svc/v1/cloud_account_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { escapeControls } from "../../domain/name.ts";
import { resourceFields } from "../../output/message-view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { givenOrPicked } from "../pick-flags.ts";

export default defineCommand({
  summary: "Delete cloud credentials",
  description: "Its sealed secrets go with it. An account that a storage configuration uses stays.",
  examples: ["svc cloud-account delete cred_0198c0de --yes"],
  needs: ["session"],
  args: { credentialId: optionalArg("id or name; left out: pick") },
  flags: confirmFlags,
  async run(context, { credentialId, force }) {
    const api = await context.api.cloudAccounts();
    const list = async () => (await api.listCloudAccounts({})).accounts;
    const id = await givenOrPicked(context, credentialId, { question: "Which cloud account?", flag: "the credential id", list });
    await confirm(context, { force }, `Delete the cloud account ${escapeControls(id)} with its secrets?`);
    return api.deleteCloudAccount({ id });
  },
  view: resourceFields(({ account }: DeleteCloudAccountResponse) => account, { id: "Deleted" }),
});
