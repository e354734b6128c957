import { IntegrationTestStatus, type TestIntegrationResponse } from "../../../gen/svc/v1/integration_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg, text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { exitCodes } from "../../errors/exit-codes.ts";
import { messageFields } from "../../output/message-view.ts";
import { givenOrPicked } from "../pick-flags.ts";

export default defineCommand({
  summary: "Call the system that an integration reaches",
  description:
    "The server makes one call that changes nothing, and says `ok`, `failed` with the reason, or `untested` with the reason where it has no way to call. It needs " +
    "the permission secrets.write. A failed test ends with exit code 1.",
  examples: ["svc integration test pg", "svc integration test --name pg --json"],
  needs: ["session"],
  args: { integration: optionalArg("name or id") },
  flags: { name: text("name or id", { placeholder: "<name>" }) },
  check({ integration, name }) {
    if (integration !== undefined && name !== undefined) throw new UsageError("the integration is named twice");
  },
  async run(context, { integration, name }) {
    const api = await context.api.integrations();
    const list = async () => (await api.listIntegrations({})).integrations;
    const wanted = await givenOrPicked(context, integration ?? name, { question: "Which integration?", flag: "--name", list });
    return api.testIntegration({ name: wanted });
  },
  exitCode: ({ status }) => (status === IntegrationTestStatus.FAILED ? exitCodes.failure : exitCodes.ok),
  view: messageFields<TestIntegrationResponse>({ name: "Name", kind: "Kind", status: "Status", message: "Message" }),
});
