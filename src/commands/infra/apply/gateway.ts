import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { readDocument } from "../../document-flags.ts";
import { appliedView, applyFlags, applySpec } from "../apply-flags.ts";

export default defineCommand({
  summary: "Create or update the gateway from a config file",
  description:
    "Keys of the file replace those of the spec, null removes one, and listeners are told apart by their names. Listeners cannot be changed while the server runs: the spec is recorded, not applied.",
  examples: ["svc infra apply gateway --file gateway.yaml"],
  needs: ["session"],
  flags: applyFlags,
  run: async (context, { file, force }) => applySpec(context, Component.GATEWAY, await readDocument(context, file), { force }),
  view: appliedView(),
});
