import type { GetFunctionResponse } from "../../../gen/svc/v1/function_pb.ts";
import { defineCommand } from "../../cli/command.ts";
import { int, text } from "../../cli/flag.ts";
import { UsageError } from "../../errors/cli-error.ts";
import { resourceFields } from "../../output/message-view.ts";
import { VERSION_FIELDS } from "./compute-view.ts";

export default defineCommand({
  summary: "Show an external function version",
  description: "What it takes and returns, where it is defined, and the newest deployment that has it.",
  examples: [
    "svc compute get --name fee",
    { run: "svc compute get --name fee --version 2", does: "An earlier version" },
    "svc compute get --id fnv_0198c0de4f5a7b3c8d9e0f1a2b3c4d5e --json",
  ],
  needs: ["session"],
  flags: {
    id: text("id of a version", { placeholder: "<version>" }),
    name: text("name of the function", { aliases: ["-n"], placeholder: "<function>" }),
    version: int("number of the version, with --name", { defaultText: "the live one", min: 1, max: 2_147_483_647 }),
  },
  check({ id, name, version }) {
    if ((id === undefined) === (name === undefined)) throw new UsageError("a version is named by --id, or by --name");
    if (version !== undefined && name === undefined) throw new UsageError("--version goes with --name");
  },
  run: async ({ api }, { id = "", name = "", version = 0 }) => (await api.functions()).getFunction({ id, name, version }),
  view: resourceFields(({ function: version }: GetFunctionResponse) => version, VERSION_FIELDS),
});
