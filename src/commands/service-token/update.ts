import type { UpdateServiceTokenResponse } from "../../../gen/svc/v1/service_token_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { bool, text } from "../../cli/flag.ts";
import { escapeControls } from "../../domain/name.ts";
import { msToTimestamp } from "../../domain/proto-time.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { textView } from "../../output/view.ts";
import { grantFlags } from "./flags.ts";
import { givenToken, tokenArgs } from "./token-flags.ts";

export default defineCommand({
  summary: "Change name or permissions",
  description:
    "Permissions and environments that are given take the place of those it had; what is not given stays. Access tokens that it has allow no more than it does, " +
    "at once; permissions that were added come with its next access token.",
  examples: [
    "svc service-token update st_0123 --name ci-main",
    { run: "svc service-token update st_0123 --permission read --permission query.online", does: "These permissions, and no others" },
  ],
  needs: ["session"],
  args: tokenArgs,
  flags: {
    name: text("name", { placeholder: "<name>" }),
    ...grantFlags,
    allEnvironments: bool("limit it to no environment"),
    neverExpires: bool("let it last until it is deleted"),
  },
  check({ allEnvironments, limitTo, expires, name, neverExpires, permission, role }) {
    if (allEnvironments && limitTo.length > 0) throw new UsageError("--all-environments and --limit-to do not go together");
    if (neverExpires && expires !== undefined) throw new UsageError("--never-expires and --expires do not go together");
    const given = [name, role, expires].some((value) => value !== undefined) || [...permission, ...limitTo].length > 0;
    if (!given && !allEnvironments && !neverExpires)
      throw new UsageError("nothing to change: give --name, --permission, --role, --limit-to or --expires");
  },
  async run(context, { allEnvironments, limitTo, expires, id, name, neverExpires, permission, role }) {
    return (await context.api.serviceTokens()).updateServiceToken({
      id: await givenToken(context, id),
      ...(name !== undefined && { name }),
      permissions: permission,
      role: role ?? "",
      environments: limitTo,
      allEnvironments,
      ...(expires !== undefined && { expiresAt: msToTimestamp(expires) }),
      neverExpires,
    });
  },
  view: textView(
    ({ serviceToken }: UpdateServiceTokenResponse) => `Updated service token '${escapeControls(serviceToken?.name ?? "")}'`,
    tokenJson,
  ),
});

async function tokenJson({ serviceToken }: UpdateServiceTokenResponse): Promise<unknown> {
  const { messageJson } = await import("../../contract/message-json.ts");
  return serviceToken && messageJson(serviceToken);
}
