import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { readDocument } from "../../document-flags.ts";
import { appliedView, applyFlags, applySpec } from "../apply-flags.ts";

export default defineCommand({
  summary: "Create or update persistence from a config file",
  description:
    "Keys of the file replace those of the spec, null removes one, and writers are told apart by their names. On this server the writers have no replicas: the spec is recorded, not applied.",
  examples: ["svc infra apply persistence --file persistence.yaml"],
  needs: ["session"],
  flags: applyFlags,
  run: async (context, { file, force }) => applySpec(context, Component.PERSISTENCE, await readDocument(context, file), { force }),
  view: appliedView(),
});
