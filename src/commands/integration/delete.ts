import type { DeleteIntegrationsResponse } from "../../../gen/svc/v1/integration_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { args, list, text } from "../../cli/flag.ts";
import { messageJson } from "../../contract/message-json.ts";
import { escapeControls } from "../../domain/name.ts";
import { textView } from "../../output/view.ts";
import { orRequestView } from "../approval/approval-view.ts";
import { orRequest } from "../approval/flags.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { givenOrPickedNames } from "../pick-flags.ts";

export default defineCommand({
  summary: "Delete integrations",
  description: "Their variables go with them: sources of that name take their settings from the code and the server's environment again.",
  examples: ["svc integration delete pg", "svc integration delete pg warehouse --yes"],
  needs: ["session"],
  args: { names: args("names or ids") },
  flags: { name: list(text("name or id", { placeholder: "<name>" })), ...confirmFlags },
  async run(context, { force, name, names: given }) {
    const api = await context.api.integrations();
    const { integrations } = await api.listIntegrations({});
    const names = await givenOrPickedNames(context, [...given, ...name], {
      question: "Which integration?",
      flag: "--name",
      list: async () => integrations,
    });
    const taken = integrations.filter((one) => names.includes(one.id) || names.includes(one.name)).flatMap(({ secrets }) => secrets);
    const along = taken.length > 0 ? ` Resolvers lose ${taken.join(", ")}.` : "";
    await confirm(context, { force }, `Delete ${names.map(escapeControls).join(", ")}?${along}`);
    return orRequest(context, await api.deleteIntegrations({ names: [...names] }));
  },
  view: orRequestView(
    textView(
      ({ integrations }: DeleteIntegrationsResponse) =>
        integrations.map(({ id, name }) => `Deleted the integration ${escapeControls(name)} (${id}).`).join("\n"),
      ({ integrations }) => ({
        integrations: integrations.map((one) => messageJson(one, { environmentVariables: false, secrets: ({ secrets }) => secrets })),
      }),
    ),
  ),
});
