import type { ListIntegrationsResponse, RevealIntegrationsResponse } from "../../../gen/svc/v1/integration_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { messageTable } from "../../output/message-view.ts";
import { choiceView } from "../../output/view.ts";
import { decryptFlags, warnOfUnopened } from "../secret/decrypt-flags.ts";
import { integrationFields, names, values } from "./integration-view.ts";

type Integrations = ListIntegrationsResponse | RevealIntegrationsResponse;

export default defineCommand({
  summary: "List integrations",
  examples: ["svc integration list", { run: "svc integration list --decrypt", does: "With values; needs the permission secrets.read" }],
  needs: ["session"],
  flags: decryptFlags,
  async run(context, { decrypt }): Promise<Integrations> {
    const api = await context.api.integrations();
    const found = decrypt ? await api.revealIntegrations({}) : await api.listIntegrations({});
    warnOfUnopened(context, found.integrations);
    return found;
  },
  view: choiceView((answer: Integrations) => (answer.$typeName === "svc.v1.RevealIntegrationsResponse" ? REVEALED : LISTED)),
});

const LISTED = messageTable<Integrations>("integrations", integrationFields(names));
const REVEALED = messageTable<Integrations>("integrations", integrationFields(values));
