import type { DeleteSecretsResponse } from "../../../gen/svc/v1/secret_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { args, list, text } from "../../cli/flag.ts";
import { escapeControls } from "../../domain/name.ts";
import { orRequestView } from "../approval/approval-view.ts";
import { orRequest } from "../approval/flags.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { givenOrPickedNames } from "../pick-flags.ts";
import { changedView } from "./secret-view.ts";

export default defineCommand({
  summary: "Delete secrets",
  description: "Resolvers that read a deleted secret get an error that names it.",
  examples: ["svc secret delete API_KEY", "svc secret delete API_KEY OLD_KEY --yes"],
  needs: ["session"],
  args: { names: args("names of secrets") },
  flags: { name: list(text("name of a secret", { placeholder: "<name>" })), ...confirmFlags },
  async run(context, { force, name, names: given }) {
    const api = await context.api.secrets();
    const names = await givenOrPickedNames(context, [...given, ...name], {
      question: "Which secret?",
      flag: "--name",
      list: async () =>
        (await api.listSecrets({})).secrets
          .filter(({ integration }) => integration === "")
          .map((secret) => ({ id: secret.name, name: secret.name })),
    });
    const what =
      names.length === 1 ? `the secret ${escapeControls(names[0] ?? "")}` : `the secrets ${names.map(escapeControls).join(", ")}`;
    await confirm(context, { force }, `Delete ${what}? Resolvers that read ${names.length === 1 ? "it" : "them"} fail from then on.`);
    return orRequest(context, await api.deleteSecrets({ names: [...names] }));
  },
  view: orRequestView(changedView<DeleteSecretsResponse>("Deleted")),
});
