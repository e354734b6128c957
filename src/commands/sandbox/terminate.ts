import type { TerminateSandboxResponse } from "../../../gen/svc/v1/sandbox_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { resourceFields } from "../../output/message-view.ts";
import { confirm, confirmFlags } from "../confirm-flags.ts";
import { checkWhich, whichFlags } from "../container-flags.ts";

export default defineCommand({
  summary: "Stop and remove a sandbox",
  description: "All that runs in it is ended, and its files are gone.",
  examples: ["svc sandbox terminate --name try", "svc sandbox terminate --id sbx_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e --yes"],
  needs: ["session"],
  flags: { ...whichFlags, ...confirmFlags },
  check: checkWhich,
  async run(context, { id, name, force }) {
    const sandbox = id ?? name ?? "";
    await confirm(context, { force }, `Terminate the sandbox ${sandbox}? Its files are gone then.`);
    return (await context.api.sandboxes()).terminateSandbox({ sandbox });
  },
  view: resourceFields(({ sandbox }: TerminateSandboxResponse) => sandbox, { id: "Terminated", name: "Name" }),
});
