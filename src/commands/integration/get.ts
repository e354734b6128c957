import type { Integration } from "../../../gen/svc/v1/integration_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { didYouMean } from "../../domain/closest.ts";
import { CliError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { givenOrPicked } from "../pick-flags.ts";
import { decryptFlags, warnOfUnopened } from "../secret/decrypt-flags.ts";
import { integrationFields, values } from "./integration-view.ts";

export default defineCommand({
  summary: "Show an integration with its secret names",
  description: "Without --name the integration is picked from a list.",
  examples: ["svc integration get --name pg", "svc integration get --name pg --decrypt --json"],
  needs: ["session"],
  flags: { name: text("name or id", { placeholder: "<name>" }), ...decryptFlags },
  async run(context, { decrypt, name: given }): Promise<Integration> {
    const api = await context.api.integrations();
    const { integrations } = await api.listIntegrations({});
    const wanted = await givenOrPicked(context, given, { question: "Which integration?", flag: "--name", list: async () => integrations });
    const listed = integrations.find(({ id }) => id === wanted) ?? integrations.find(({ name }) => name === wanted);
    if (!listed) {
      const known = integrations.map(({ name }) => name);
      throw new CliError(`there is no integration '${wanted}'`, {
        code: "not_found",
        hint: didYouMean(wanted, known) || "`svc integration list` shows all.",
      });
    }
    warnOfUnopened(context, [listed]);
    return decrypt ? ((await api.revealIntegrations({ name: listed.id })).integrations[0] ?? listed) : listed;
  },
  view: resourceFields((integration: Integration) => integration, {
    ...integrationFields(values),
    id: "ID",
  }),
});
