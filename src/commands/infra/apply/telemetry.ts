import { Component } from "../../../../gen/svc/v1/infra_pb.ts";
import { defineCommand } from "../../../cli/command.ts";
import { path } from "../../../cli/flag.ts";
import { readDocument } from "../../document-flags.ts";
import { appliedView, applyFlags, applySpec } from "../apply-flags.ts";

export default defineCommand({
  summary: "Create or update telemetry from a config file",
  description:
    "Keys of the file replace those of the spec, and null removes one. With a key namespace the spec is that of an environment. This server runs no " +
    "collector: the spec is recorded, not applied. Whoever may read can read it, so leave secrets out of the collector's configuration.",
  examples: ["svc infra apply telemetry --file telemetry.yaml"],
  needs: ["session"],
  flags: {
    ...applyFlags,
    customerCollector: path("YAML with the configuration of the customer collector", { aliases: ["--collector-config"] }),
  },
  async run(context, { customerCollector, file, force }) {
    const { place, value } = await readDocument(context, file);
    const more = customerCollector === undefined ? {} : { customer_collector: (await readDocument(context, customerCollector)).value };
    return applySpec(context, Component.TELEMETRY, { place, value: { ...value, ...more } }, { force });
  },
  view: appliedView(),
});
