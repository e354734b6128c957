import type { GetSandboxResponse } from "../../../gen/svc/v1/sandbox_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { resourceFields } from "../../output/message-view.ts";
import { checkWhich, whichFlags } from "../container-flags.ts";
import { SANDBOX_FIELDS } from "./sandbox-view.ts";

export default defineCommand({
  summary: "Show a sandbox",
  examples: ["svc sandbox get --name try", "svc sandbox get --id sbx_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e"],
  needs: ["session"],
  flags: whichFlags,
  check: checkWhich,
  run: async ({ api }, { id, name }) => (await api.sandboxes()).getSandbox({ sandbox: id ?? name }),
  view: resourceFields(({ sandbox }: GetSandboxResponse) => sandbox, SANDBOX_FIELDS),
});
