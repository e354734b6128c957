import type { CreateServiceTokenResponse } from "../../../gen/svc/v1/service_token_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { text } from "../../cli/flag.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import { grantFlags } from "./flags.ts";

export default defineCommand({
  summary: "Create a service token",
  description:
    "Prints the client id and the client secret, which the server keeps as a hash only: it is shown this once. " +
    "Programs take them from SVC_CLIENT_ID and SVC_CLIENT_SECRET. Nobody can give more than the own credentials have.",
  examples: [
    "svc service-token create --name ci --role developer",
    {
      run: "svc service-token create --name shop --permission query.online --limit-to default",
      does: "One that queries one environment",
    },
  ],
  needs: ["session"],
  flags: { name: text("name", { required: true, placeholder: "<name>" }), ...grantFlags },
  check({ permission, role }) {
    if (permission.length === 0 && role === undefined) throw new UsageError("a service token needs --permission or --role");
  },
  async run({ api }, { limitTo, expires, name, permission, role }) {
    return (await api.serviceTokens()).createServiceToken({
      name,
      permissions: permission,
      role: role ?? "",
      environments: limitTo,
      ...(expires !== undefined && { expiresAt: msToTimestamp(expires) }),
    });
  },
  view: textView(
    ({ clientSecret, serviceToken }: CreateServiceTokenResponse) =>
      `Client ID:      ${serviceToken?.clientId ?? ""}\nClient secret:  ${clientSecret}`,
    async ({ clientSecret, serviceToken }) => {
      const { messageJson } = await import("../../contract/message-json.ts");
      return { ...(serviceToken && messageJson(serviceToken)), client_secret: clientSecret };
    },
  ),
});
