import type { DeleteServiceTokenResponse } from "../../../gen/svc/v1/service_token_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { escapeControls } from "../../domain/name.ts";
import { textView } from "../../output/view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { givenToken, tokenArgs } from "./token-flags.ts";

export default defineCommand({
  summary: "Delete a service token",
  description: "Its secret, its access tokens and browser sessions that were opened with it are refused from the next request on.",
  examples: ["svc service-token delete st_0123 --yes"],
  needs: ["session"],
  args: tokenArgs,
  flags: confirmFlags,
  async run(context, { force, id: given }) {
    const id = await givenToken(context, given);
    await confirm(context, { force }, `Delete the service token ${escapeControls(id)}? Programs that use it are refused at once.`);
    return (await context.api.serviceTokens()).deleteServiceToken({ id });
  },
  view: textView(
    ({ serviceToken }: DeleteServiceTokenResponse) => `Deleted service token '${escapeControls(serviceToken?.name ?? "")}'`,
    async ({ serviceToken }) => {
      const { messageJson } = await import("../../contract/message-json.ts");
      return serviceToken && messageJson(serviceToken);
    },
  ),
});
