import type { TestCloudAccountResponse } from "../../../gen/svc/v1/cloud_account_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { optionalArg } from "../../cli/flag.ts";
import { messageTable } from "../../output/message-view.ts";
import { CHECK_FIELDS, checksExitCode } from "../checks-view.ts";
import { givenOrPicked } from "../pick-flags.ts";

export default defineCommand({
  summary: "Verify cloud credentials",
  description: "The server has the cloud say whose the credentials are, which changes nothing there. A failed test ends with exit code 1.",
  examples: [{ run: "svc cloud-account test", does: "Pick one from a list" }, "svc cloud-account test cred_0198c0de"],
  needs: ["session"],
  args: { credentialId: optionalArg("id or name; left out: pick") },
  async run(context, { credentialId }) {
    const api = await context.api.cloudAccounts();
    const list = async () => (await api.listCloudAccounts({})).accounts;
    const id = await givenOrPicked(context, credentialId, { question: "Which cloud account?", flag: "the credential id", list });
    return api.testCloudAccount({ id });
  },
  exitCode: ({ checks }) => checksExitCode(checks),
  view: messageTable<TestCloudAccountResponse>("checks", CHECK_FIELDS),
});
