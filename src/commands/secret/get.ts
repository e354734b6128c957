import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { didYouMean } from "../../domain/closest.ts";
import { CliError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { givenOrPicked } from "../pick-flags.ts";
import { decryptFlags, warnOfUnopened } from "./decrypt-flags.ts";
import { SECRET_FIELDS, type Secrets } from "./secret-view.ts";

export default defineCommand({
  summary: "Show a secret",
  description: "Without --name the secret is picked from a list.",
  examples: ["svc secret get --name API_KEY", "svc secret get --name API_KEY --decrypt"],
  needs: ["session"],
  flags: { name: text("name of the secret", { placeholder: "<name>" }), ...decryptFlags },
  async run(context, { decrypt, name: given }): Promise<Secrets> {
    const api = await context.api.secrets();
    const all = await api.listSecrets({});
    const list = async () => all.secrets.map(({ name }) => ({ id: name, name }));
    const wanted = await givenOrPicked(context, given, { question: "Which secret?", flag: "--name", list });
    const [found] = all.secrets.filter(({ name }) => name === wanted);
    if (!found) {
      const names = all.secrets.map(({ name }) => name);
      throw new CliError(`there is no secret '${wanted}'`, {
        code: "not_found",
        hint: didYouMean(wanted, names) || "`svc secret list` shows all.",
      });
    }
    const shown = decrypt ? await api.revealSecrets({ names: [wanted] }) : { ...all, secrets: [found] };
    warnOfUnopened(context, shown.secrets);
    return shown;
  },
  view: resourceFields(({ secrets }: Secrets) => secrets[0], SECRET_FIELDS),
});
