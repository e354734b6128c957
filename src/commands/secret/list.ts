import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { decryptFlags, warnOfUnopened } from "./decrypt-flags.ts";
import { SECRET_FIELDS, type Secrets } from "./secret-view.ts";

export default defineCommand({
  summary: "List secrets",
  description: "Variables of integrations are among them. Values are masked but for their last four characters.",
  examples: ["svc secret list", { run: "svc secret list --decrypt --json", does: "With values; needs the permission secrets.read" }],
  needs: ["session"],
  flags: decryptFlags,
  async run(context, { decrypt }): Promise<Secrets> {
    const api = await context.api.secrets();
    const found = decrypt ? await api.revealSecrets({}) : await api.listSecrets({});
    warnOfUnopened(context, found.secrets);
    return found;
  },
  view: messageTable<Secrets>("secrets", SECRET_FIELDS),
});
